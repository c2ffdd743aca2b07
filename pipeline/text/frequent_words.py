# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones
"""Frequent words and telling letters of languages that share a script with others.

The module `language` tells languages apart by them. The lists are part of every profile with
`auto`: other lists would find other languages, and so other terms than a model has learned. So a
released list does not change. The Portuguese `com` is missing, because it is part of addresses.
"""

from __future__ import annotations

from collections.abc import Mapping

LATIN_WORDS: Mapping[str, str] = {
    "basque": "eta da du dira ez bat hau ere izan zuen dute baina zen dago edo bere egin den",
    "catalan": "i el els les amb per és que del dels una un als més però aquest aquesta són va "
    "han",
    "croatian": "i je u se na su za od da kao koji koja koje nije bio ili ali sve iz što samo te",
    "czech": "a je se na že v s z do pro by jsou není ale jako které který nebo také být po "
    "byl při",
    "danish": "og det er ikke af en at til på de med den for som har et kan ved også efter hvor "
    "blev",
    "dutch": "de het een en van niet dat is zijn voor met op aan ook er door naar maar bij of "
    "deze",
    "english": "the of and to a in is that for it with as was on are be by this have from or "
    "at not an which his were has but they will said its you can who their more "
    "would been he i if so up out no do we my me him her she had did does than then "
    "them there these those what when where how about into over after before under "
    "between other some any all also only new now per may could should each most "
    "such very one two first last next because during while see use men man son co "
    "go care come make made get inc ltd corp",
    "esperanto":
    "la kaj de estas en ne por al kun el ĝi tiu kiu ke sed li ili estis pri plej oni",
    "estonian": "ja on ei see oma et ka mis kui oli või siis seda ning aga kes nii välja selle "
    "pole",
    "finnish": "ja on ei että se oli hän mutta ovat kun niin myös joka sen tai jos ole mukaan "
    "olla",
    "french": "le la les de des et un une du est que qui dans pour pas sur au par plus ce avec "
    "sont il elle aux cette ont mais été ou être",
    "german": "der die und das in den von zu ist mit dem nicht ein eine auf für sich des im "
    "auch als wird sind es an werden oder bei aus nach wie einen einer dass kann zum "
    "zur",
    "hungarian": "a az és nem hogy egy is ez van volt meg csak már azt mint de ha el kell lesz "
    "vagy",
    "indonesian":
    "yang dan di untuk dengan ini itu dari tidak pada dalam akan adalah ke oleh juga "
    "sebagai karena tersebut telah bisa",
    "irish": "an agus na ar is i go le ag bhí sé tá ní do mar sin faoi bhfuil seo ach leis "
    "chun nó",
    "italian": "il di e la che è in un per non una del sono della con si da le al gli dei delle "
    "nel anche più ha ma lo alla come questo",
    "latvian": "un ir par ar no uz kas ka nav bet kā lai tika arī pēc vai tas gada pie šis viņš",
    "lithuanian":
    "ir yra kad į su iš bet tai kaip ne buvo jis už ar per dėl nuo apie taip jo būti",
    "norwegian":
    "og det er ikke av en at til på de med den for som har et kan ved også etter hvor "
    "ble være blir mellom",
    "polish": "i w na nie się z do jest to że o jak ale po co za od dla są oraz który przez być "
    "ma tego lub przy jego która które",
    "portuguese":
    "o a de que e do da em um para não uma os no se na por mais as dos como mas "
    "ao das são é foi pelo pela também ou à",
    "romanian":
    "și şi de în a la cu nu pe o un care din este că pentru mai sunt sau au fost prin "
    "ce al ale dar unei",
    "sesotho": "ea le ka ho o ha e ba hore ke tsa mme la sa ne bile hae empa joalo teng haholo",
    "slovak": "a je sa na že v s z do pre by sú nie ale ako ktoré ktorý alebo aj byť po bol pri "
    "od",
    "slovenian":
    "in je da se na za so v ne ki pa tudi bi po kot iz z od ali ter še bil lahko pri",
    "spanish": "el de la que y en los se las un una del por con no para es al su lo como más "
    "pero sus fue este ha son también entre",
    "swedish": "och det är inte att en som på av för med den till har de ett om var kan från "
    "eller vid men ska blir mycket",
    "turkish": "ve bir bu da de için ile çok olarak daha olan ne gibi kadar sonra ancak değil "
    "var olduğu her veya en",
    "vietnamese":
    "và của là có trong không được cho các một những người với khi này đã về để từ ra",
}  # fmt: skip
CYRILLIC_WORDS: Mapping[str, str] = {
    "bulgarian":
    "и на да се за от е не са с че като по ще във беше но това или със има които при",
    "russian": "и в не на что с по как это для из или от но его к о за же так все он был при у "
    "было также если может только",
    "serbian": "и је у се на да су за од као који која које није био или али све из што само",
    "ukrainian":
    "і в не на що з та у як це для до за від або його про але й є він був при також "
    "якщо може із щоб",
}  # fmt: skip
ARABIC_WORDS: Mapping[str, str] = {
    "arabic": "في من على أن إلى التي عن مع هذا هذه كان لا ما الذي بعد أو لم بين كما قال كل ذلك "
    "وقد",
    "persian": "و در به از که این را با است برای آن یک تا بر هم خود نیز می کرد شده بود شد های هر",
    "urdu": "کے کی میں ہے اور سے کا کو اس کہ نے پر ہیں ایک بھی نہیں تھا یہ ہو گیا تھے جو",
}  # fmt: skip
DEVANAGARI_WORDS: Mapping[str, str] = {
    "hindi": "के में है की और से को का पर यह हैं ने एक नहीं भी था लिए तो हो कि इस जो थे",
    "nepali": "र को मा छ पनि छन् भएको यो गरेको लागि एक हो थियो गर्न तथा भने गर्ने हुने नै छैन",
}  # fmt: skip
HEBREW_WORDS: Mapping[str, str] = {
    "hebrew": "של את על לא הוא זה עם כי גם היא אל כל או היה אני יותר אך בין הם רק אשר לפי",
    "yiddish": "און די אין דער צו איז פון דאס אויף מיט האט זיך נישט ווי האבן אז ער מען פאר זענען",
}  # fmt: skip
# By letter, the languages that have it.
TELLING_LETTERS: Mapping[str, str] = {
    "ß": "german", "ä": "german swedish finnish estonian", "ö": "german swedish finnish hungarian "
    "turkish estonian", "ü": "german estonian hungarian turkish", "å": "swedish danish norwegian",
    "æ": "danish norwegian", "ø": "danish norwegian", "õ": "estonian portuguese", "ã": "portuguese",
    "ñ": "spanish", "ê": "french portuguese", "è": "french italian catalan", "ò": "italian catalan",
    "ù": "french italian", "œ": "french", "ě": "czech", "ř": "czech", "ů": "czech", "ľ": "slovak",
    "ł": "polish", "ż": "polish", "ś": "polish", "ź": "polish", "ę": "polish lithuanian",
    "ą": "polish lithuanian", "ő": "hungarian", "ű": "hungarian", "ğ": "turkish", "ı": "turkish",
    "ş": "turkish romanian", "ă": "romanian vietnamese", "ș": "romanian", "ț": "romanian",
    "ţ": "romanian", "ė": "lithuanian", "ų": "lithuanian", "į": "lithuanian", "ī": "latvian",
    "ā": "latvian", "ē": "latvian", "ņ": "latvian", "ļ": "latvian", "ķ": "latvian",
    "đ": "croatian vietnamese", "ơ": "vietnamese", "ư": "vietnamese", "ĉ": "esperanto",
    "ĝ": "esperanto", "ŭ": "esperanto",
    "ы": "russian", "э": "russian", "ё": "russian", "і": "ukrainian", "ї": "ukrainian",
    "є": "ukrainian", "ґ": "ukrainian", "ј": "serbian", "љ": "serbian", "њ": "serbian",
    "ћ": "serbian", "ђ": "serbian", "џ": "serbian",
    "پ": "persian urdu", "چ": "persian urdu", "گ": "persian urdu", "ک": "persian urdu",
    "ی": "persian urdu", "ے": "urdu", "ٹ": "urdu", "ڈ": "urdu", "ھ": "urdu", "ة": "arabic",
    "ي": "arabic", "ك": "arabic", "أ": "arabic", "إ": "arabic",
}  # fmt: skip
