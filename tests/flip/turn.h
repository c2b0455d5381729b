/* turn.h - the order of a recording, made by code that the recording does not see */
void turn(int n); /* waits until turn_end() was called so often */
void turn_end(void);
