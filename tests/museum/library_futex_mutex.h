// A mutex of one word, in a library; who unlocks it need not have locked it.
struct lock {
    int state;
};
void lib_lock(struct lock *lock);
void lib_unlock(struct lock *lock);
