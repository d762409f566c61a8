"""The board in the browser: a local server that knows the rules, and a page that knows none.

============  ===============================================================================
module        what it does
============  ===============================================================================
`serve`       listens, on the loopback by default
`patience`    closes connections that stay silent
`app`         the routes and their answers
`guard`       refuses strangers: checks hosts, origins, the token and the size of a body
`protocol`    checks every message, and refuses a wrong one in one line
`views`       a position as the page draws it, with all that is legal in it
`players`     the opponents to choose from
`thinking`    runs agents in threads, limited in number and in time, and stops them
`insight`     what an agent thinks of a position: probabilities, best turns, values
`records`     loads, saves and scores battles
`lessons`     the game in six pictures, to be played
`page/`       the page: HTML, CSS, JavaScript modules
============  ===============================================================================

The server keeps no games. A position's text and the limits of its battle are the whole state, and
the page sends them with every request. So the server checks each request against the rules alone,
and a thousand open games need no memory.
"""
