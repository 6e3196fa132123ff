"""The dashboard: pages over the service, in the browser.

The pages are static files, plain ES modules without a build step; everything they show comes from routes, most of them
those that workers use. What is here besides is for eyes only: sessions in a cookie (``sessions``), a table of trials
that stays quick with many of them (``columns``, ``query``), figures (``figures``, computed in a child process of its
own, so that no worker waits for one), logs (``trial_logs``), and the files (``assets``).
"""
