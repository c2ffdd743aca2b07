"""The stop-list of the `reuters21578` profile: English words without a topic of their own.

They are written without apostrophes, since the profile discards those ("don't" is read as "dont").
"""

STOPWORDS = tuple(
    """
    a about above across after afterwards again against ago all almost alone along already also
    although always am among amongst an and another any anybody anyhow anyone anything anyway
    anywhere are arent around as at away back be became because become becomes becoming been before
    beforehand behind being below beside besides between beyond both but by came can cannot cant
    come comes could couldnt did didnt do does doesnt doing done dont down during each either else
    elsewhere enough etc even ever every everybody everyone everything everywhere except far few
    for former formerly from further furthermore gave get gets getting give given gives go goes
    going gone got had hadnt has hasnt have havent having he hed hence her here hereafter hereby
    herein hers herself hes him himself his how however i id if ill im in indeed instead into is
    isnt it itd itll its itself ive just keep kept last lately later latter least less let lets
    like likely made make makes making many may maybe me meanwhile might mine more moreover most
    mostly much must my myself namely near nearly neither never nevertheless next no nobody none
    nonetheless nor not nothing now nowhere of off often on once one only onto or other others
    otherwise ought our ours ourselves out over overall own per perhaps put quite rather really
    said same saw say saying says see seem seemed seeming seems seen several shall shant she shed
    shes should shouldnt since so some somebody somehow someone something sometime sometimes
    somewhere still such take taken takes taking than that thats the their theirs them themselves
    then thence there thereafter thereby therefore therein theres thereupon these they theyd theyll
    theyre theyve this those though through throughout thus to together too took toward towards
    under unless until unto up upon use used uses using very via want wants was wasnt way we wed
    well went were werent weve what whatever when whence whenever where whereas whereby wherein
    whether which while whither who whoever whole whom whose why will with within without wont
    would wouldnt yes yet you youd youll your youre yours yourself yourselves youve
    """.split()  # noqa: SIM905 - words read better than quotes
)
