void untraced_keep(void *p);
int *untraced_make(void);
void untraced_call(void (*f)(int *));
