"""A class: a code of four letters, phones that answer, and a store that keeps both for a day.

The teacher's page holds the code and the secret, and asks a `ClassStore` in Python: there is no address through which anything
but an answer gets in.

    store = class_store()                               # attnviz.ui.classroom.running_class: the one of this server
    started = store.start(nicknames=False)              # .code and .invite for students, .secret for the teacher
    question, key = class_question(lesson_question, picture, source)    # on the spot: LessonQuestion(kind, ask, fields, 0)
    store.ask(started.code, started.secret, question, key)
    store.overview(started.code, started.secret)        # who is here, how many have answered: ask again every second
    store.close(…); store.reveal(…)                     # after it, `overview` has `.results` and `.key`
    store.history(…); store.csv(…); store.end(…)

Students open `/join/CODE`, from the QR code `/join?code=CODE&invite=INVITE`. Whoever has only the code is a student. Nothing
here knows the web.
"""
