"""Words too common to say anything about an item, in the three languages of the application."""

STOP_WORDS: dict[str, set[str]] = {
    "english": set(
        """a about above after again against all also although always am among an and another any
        are as at away back be became because become been before being below between both but by
        came can cannot come could did do does doing don done down during each either else even
        ever every few first for from further get gets give go goes going good got had has have
        having he her here hers herself him himself his how however i if in into is isn it its
        itself just know last let like made make makes many may me might more most much must my
        myself never new no nor not now of off often on once one only onto or other others our
        ours ourselves out over own per put quite rather really s said same say see she should
        since so some something still such t take than that the their theirs them themselves then
        there these they thing things this those though through thus to together too two under
        until up upon us use used using very via was way we well were what when where whether which
        while who whom whose why will with within without would yes yet you your yours yourself
        yourselves""".split()
    ),
    "dutch": set(
        """aan af al alle alleen alles als altijd andere ben bij binnen daar dan dat de deze die dit
        doen door dus een eens eigen elk elke en enkel er erg even gaan geen geweest haar had heb
        hebben heeft heel hem het hier hij hoe hun iets ik in is ja je jij jou jouw jullie kan kon
        kunnen maar maken me meer men met mij mijn moet moeten na naar net niet niets nog nu of om
        omdat ons onze ook op over samen te tegen ten ter toch toen tot tussen u uit uw van veel
        voor vooral waar wanneer want waren was wat we weer wel welke werd wie wij wil worden wordt
        zal ze zeer zelf zich zij zijn zo zoals zonder zou""".split()
    ),
    "french": set(
        """à afin ai ainsi alors après au aucun aujourd aussi autre autres aux avant avec avoir car
        ce cela celle celui ces cet cette ceux chaque chez ci comme comment contre dans de
        depuis des deux donc dont du elle elles en encore entre est et été être eu eux
        fait faire fois il ils je jusqu la là le les leur leurs lors lui ma mais me même
        mes moi moins mon ne ni nos notre nous on ont ou où par parce pas pendant peu peut
        plus pour pourquoi puis quand que quel quelle qui sa sans se sera ses si son sont
        sous sur ta te tes toi ton tous tout toute toutes très tu un une vers vos votre
        vous y""".split()
    ),
}
