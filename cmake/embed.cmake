# drover_embed(TARGET SYMBOL FILE ...): puts each FILE into TARGET as read-only bytes between the symbols
# drover_asset_SYMBOL_begin and drover_asset_SYMBOL_end. The assembler copies the bytes (.incbin), so a
# megabyte costs no compile time and the program opens no file when it runs.
enable_language(ASM)

function(drover_embed target)
  while(ARGN)
    list(POP_FRONT ARGN symbol file)
    set(source ${PROJECT_BINARY_DIR}/embedded/${symbol}.S)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
.section .rodata
.global drover_asset_@symbol@_begin
.global drover_asset_@symbol@_end
drover_asset_@symbol@_begin:
.incbin "@file@"
drover_asset_@symbol@_end:
.byte 0
.section .note.GNU-stack, "", %progbits
]])
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file})
    target_sources(${target} PRIVATE ${source})
  endwhile()
endfunction()
