from unseen.support.work import in_threads as in_threads
