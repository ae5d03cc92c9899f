// A program to look at with a debugger: strings from malloc, a list, and a function that the debugger calls.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
    char *text;
    struct item *next;
};

char *greet(const char *name) {
    char *text = malloc(strlen(name) + 8);
    strcpy(text, "hello, ");
    return strcat(text, name);
}

void look(struct item *list, int depth) {
    if (depth > 0) {
        look(list, depth - 1);
        return;
    }
    puts(list->text);
}

int main(void) {
    struct item *list = NULL;
    for (int i = 0; i < 1000; i++) {
        struct item *item = malloc(sizeof *item);
        char name[32];
        snprintf(name, sizeof name, "number %d", i);
        item->text = greet(name);
        item->next = list;
        list = item;
    }
    look(list, 3);
    while (list) {
        struct item *next = list->next;
        free(list->text);
        free(list);
        list = next;
    }
    return 3;
}
