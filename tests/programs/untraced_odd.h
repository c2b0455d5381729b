/* untraced_odd.h - a library that is not traced and synchronises in ways that are easily missed */
#ifndef UNTRACED_ODD_H
#define UNTRACED_ODD_H

/* Flags that hang on a list, the last of many; on a table of 80,000 bytes. */
struct odd_flag;
struct odd_list;
struct odd_flag *odd_flag(void);
struct odd_list *odd_list(void);
void odd_list_append(struct odd_list *l, struct odd_flag *f);
void odd_list_wait(struct odd_list *l); /* for the last one */
void **odd_table(void);
void odd_table_put(void **table, int i, struct odd_flag *f);
void odd_table_wait(void **table, int i);
void odd_flag_set(struct odd_flag *f);

/* A handle that is a pointer with other bits mixed in. */
unsigned long odd_open(void);
void odd_set(unsigned long handle);
void odd_wait(unsigned long handle);
void odd_hidden_set(unsigned long handle);
void odd_hidden_wait(unsigned long handle);
void odd_shown_set(unsigned long handle);
void odd_shown_wait(unsigned long handle);

/* By functions that are chosen when the library is loaded. */
void odd_chosen_set(void);
void odd_chosen_wait(void);

/* A child process hands on what it reads. */
void odd_child(void);
void odd_child_send(void);
void odd_child_receive(void);

/* Memory that has two addresses. */
void odd_map(void);
void odd_map_set(void);
void odd_map_wait(void);

/* A thread that was made by clone() hands on. */
void odd_clone(void);
void odd_clone_set(void);
void odd_clone_wait(void);

#endif
