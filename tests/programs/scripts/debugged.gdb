set print address off
set disable-randomization off
set debuginfod enabled off
break look if depth == 0
run
backtrace
print list->text
print *list->next->next
print greet("debugger")
print ((char *(*)(const char *)) strdup)("a copy of the debugger's")
print ((void *(*)(unsigned long, unsigned long)) calloc)(3, 1000) != 0
finish
continue
