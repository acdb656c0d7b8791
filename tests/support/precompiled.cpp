// The owner of the tests' precompiled headers (tests/CMakeLists.txt): a program, since they are compiled as such.
int main() {}
