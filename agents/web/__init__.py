"""The board in the browser: a local server that knows the rules, and a page that knows none.

============  ===============================================================================
module        what it does
============  ===============================================================================
`serve`       listens, and gives up on connections that say nothing
`app`         routes: what is asked where, and what is answered
`guard`       who may ask: hosts, origins, the token, the size of a body, the headers of answers
`protocol`    what may be asked: every message checked, or refused in one line
`views`       a position as the page draws it, with everything that is legal in it
`players`     the opponents that may be chosen, each in a line
`thinking`    agents at work in threads, bounded in number and in time, and how to stop them
`insight`     what an agent makes of a position: chances, best turns, values
`records`     battles loaded, saved and scored
`lessons`     the game in six pictures, to be played
`page/`       the page: HTML, CSS, JavaScript modules
============  ===============================================================================

The server keeps no games. A position's text and the limits of its battle are the whole state, and
the page sends them with every question: whatever is asked is checked against the rules alone, and
a thousand open games need no memory here.
"""
