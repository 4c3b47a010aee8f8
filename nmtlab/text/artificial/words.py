"""The words of the English-like language.

A concept is written `word/synonym/synonym`; each group lists the most frequent concepts first. No word occurs twice.
"""

OPEN_CLASSES = {
    "person": "teacher/instructor/tutor child/kid/youngster woman/lady man/gentleman student/pupil/learner friend/pal "
    "farmer/peasant girl/lass boy/lad mother/mum neighbour soldier/trooper father/dad worker/labourer guest/visitor "
    "merchant/trader/dealer brother/sibling sister thief/robber/burglar driver/chauffeur king/ruler/monarch judge "
    "lawyer/attorney sailor/seaman uncle nurse hunter queen engineer/technician stranger/foreigner boss/chief "
    "shepherd/herder baker cousin guard/sentry waiter grandmother/granny",
    "animal": "dog/hound cat/kitten horse/steed bird cow wolf goat bear chicken/hen rabbit/hare fox lion camel "
    "donkey/mule snake/serpent eagle monkey/ape duck mouse pig/hog elephant frog/toad",
    "food": "apple egg cake/tart soup/broth potato meal/feast orange biscuit/cookie tomato pie/pastry onion pear "
    "carrot melon sausage sandwich cherry lemon salad pancake",
    "thing": "car/automobile box/crate door/gate table/desk key clock/timepiece chair/seat bag/sack lamp/lantern "
    "bottle/flask coat/jacket cup/mug picture/image knife/blade phone/telephone ring boat/vessel hat/cap "
    "bicycle/bike window basket bell mirror carpet/rug rope/cord stone/rock shoe/boot coin shirt/blouse wheel "
    "hammer/mallet candle umbrella guitar pot/pan drum ladder sword mask needle",
    "text": "book/volume letter/message story/tale song/tune newspaper/gazette article/essay poem/verse novel "
    "report/account diary/journal speech/lecture drama/comedy map/chart list dictionary/glossary leaflet/brochure",
    "place": "house/home school/academy garden/park city/town village/hamlet market/bazaar street/road room/chamber "
    "forest/wood shop/store hospital/clinic station office/bureau bridge field/meadow kitchen library factory/mill "
    "church/chapel hotel/inn museum/gallery island/isle castle/fortress restaurant/diner harbour/port beach/shore "
    "square/plaza palace valley/dale theatre/playhouse airport prison/jail farm/ranch tower mountain",
    "topic": "problem/difficulty disease/illness/sickness star planet/world virus/germ language/tongue vaccine "
    "theory/hypothesis medicine/drug/remedy machine/device brain gene question/query method/technique atom mineral "
    "insect/bug fossil/relic signal cell equation/formula",
    "policy": "law/statute plan/scheme/proposal election/ballot treaty/pact/agreement reform tax/levy war/conflict "
    "budget decision/ruling crisis/emergency border/frontier strike/walkout party/faction contract/deal debate/dispute "
    "rule/regulation alliance/coalition",
    "see": "see/notice/spot find/locate like/enjoy watch/observe remember/recall lose/misplace want/desire forget "
    "love/adore follow/trail choose/pick/select describe/depict draw/sketch touch photograph/film",
    "meet": "meet/encounter help/assist/aid know/recognise thank invite greet/welcome ask call/summon teach/instruct "
    "trust blame/accuse warn/alert praise/commend marry hire/employ admire/respect",
    "feed": "feed/nourish catch/capture chase/hunt wash/bathe train/tame",
    "eat": "eat/devour cook/prepare taste/sample bake serve share/divide",
    "buy": "buy/purchase make/produce sell/vend break/smash repair/fix/mend carry/lug hide/conceal steal/swipe "
    "keep/retain clean/wipe move/shift throw/toss drop borrow",
    "read": "write/compose read/peruse publish/print translate/interpret finish/complete copy/duplicate edit/revise "
    "quote/cite memorise",
    "study": "study/examine/investigate discover/uncover/detect explain/clarify solve/resolve measure/gauge "
    "understand/grasp test/check analyse/dissect ignore/neglect",
    "govern": "support/back reject/refuse announce/declare discuss sign/ratify change/alter/modify delay/postpone "
    "oppose/resist approve/endorse defend/protect criticise/attack end/terminate",
    "visit": "visit/tour leave/abandon enter reach cross/traverse explore/search",
    "give": "give/hand send/mail show/display bring/deliver offer lend",
    "go": "go/travel walk/stroll run/rush/hurry return drive come fly march",
    "act": "sleep/doze work/toil live/dwell/reside wait/linger sing/chant play laugh/giggle/chuckle sit stand dance "
    "rest/relax talk/chat/speak cry/weep smile/grin swim die/perish",
    "happen": "fall/tumble disappear/vanish burn arrive remain/stay shine/gleam",
    "say": "say/state think/believe hope claim/assert/maintain fear/dread deny promise/vow",
    "adjective": "old/ancient new big/large/huge small/little/tiny good/fine beautiful/pretty/lovely "
    "bad/awful/terrible strange/odd/weird famous/renowned ordinary/normal ugly/hideous perfect/flawless",
    "living": "young/youthful happy/glad/cheerful tired/weary/exhausted clever/smart/bright poor/needy rich/wealthy "
    "kind/gentle angry/furious brave/courageous/bold sick/ill/unwell hungry/starving strong/powerful lazy/idle "
    "quiet/silent weak/feeble proud lonely nervous/anxious",
    "material": "red/crimson white heavy/weighty black cheap/inexpensive expensive/costly/pricey green dirty/filthy "
    "warm/hot cold/chilly/cool blue empty/vacant long/lengthy dark/dim dry/arid wet/damp wooden round/circular "
    "tidy/neat",
    "idea": "important/vital/crucial difficult/hard/tough simple/easy dangerous/risky/hazardous useful/handy "
    "serious/grave secret/hidden modern/contemporary common/widespread interesting/fascinating rare/unusual "
    "complex/complicated false/untrue",
}
"""Nouns by meaning, verbs by type of object, adjectives by the nouns they modify."""

NOUN_GROUPS = ("person", "animal", "food", "thing", "text", "place", "topic", "policy")
ADJECTIVE_GROUPS = ("adjective", "living", "material", "idea")

TITLES = {
    "scientist title": "scientist/researcher doctor/physician professor/scholar chemist biologist",
    "politician title": "minister president/premier senator mayor governor",
    "writer title": "writer/author poet/bard journalist/reporter novelist critic/reviewer",
    "artist title": "singer/vocalist actor/performer painter musician composer",
    "river title": "river/stream",
}

UNINFLECTED = {
    "nationality": "American French German Turkish Indian Chinese Russian Italian Spanish Japanese Mexican Kenyan "
    "Egyptian Polish Swedish",
    "past": "yesterday recently/previously earlier",
    "present": "today now often/frequently sometimes/occasionally daily",
    "future": "tomorrow soon/shortly tonight later",
    "manner": "quickly/rapidly/swiftly slowly/gradually quietly/silently carefully/cautiously secretly/covertly "
    "easily/effortlessly angrily/furiously again suddenly/abruptly happily/gladly loudly/noisily politely/courteously "
    "badly/poorly gently/softly",
    "each": "every/each another",
    "many": "many/numerous two three several few",
    "coordinator": "and but/yet",
    "subordinator": "because/since when/while although/though before after",
    "in": "in",
    "from": "from",
    "to": "to",
    "with": "with",
    "near": "near/beside",
    "behind": "behind",
    "who": "who",
    "which": "which",
    "that": "that",
    "will": "will",
    "not": "not",
    "did": "did",
    "be": "be",
    ",": ",",
    ".": ".",
}

THREE_FORMS = {
    "pronoun": "I,me,my you,you,your he,him,his she,her,her we,us,our they,them,their",
    "the": "the,the,the",
    "a": "a,some,an",
    "demonstrative": "this,these,these that,those,those",
    "do": "do,does,do",
    "is": "am,is,are",
    "was": "was,was,were",
}
"""Words with all forms listed: subject, object, possessive; singular, plural, before a vowel; I, he, they."""

IRREGULAR_PLURALS = dict(
    pair.split(",")
    for pair in "child,children woman,women man,men gentleman,gentlemen seaman,seamen mouse,mice thief,thieves "
    "knife,knives wolf,wolves potato,potatoes tomato,tomatoes crisis,crises hypothesis,hypotheses".split()
)

IRREGULAR_PASTS = dict(
    pair.split(",")
    for pair in "see,saw spot,spotted find,found lose,lost forget,forgot choose,chose draw,drew meet,met know,knew "
    "teach,taught feed,fed catch,caught eat,ate buy,bought make,made sell,sold break,broke lug,lugged hide,hid "
    "steal,stole keep,kept throw,threw drop,dropped write,wrote read,read understand,understood leave,left give,gave "
    "send,sent show,showed bring,brought lend,lent go,went travel,travelled run,ran drive,drove come,came fly,flew "
    "sleep,slept sing,sang sit,sat stand,stood chat,chatted speak,spoke weep,wept grin,grinned swim,swam fall,fell "
    "shine,shone say,said think,thought".split()
)

WITH_A = {"useful", "ubiquitous"}
WITH_AN = {"honest", "hour"}

FIRST_NAMES = (
    "James Anna Edward Margaret Anthony Maria Peter Helen Thomas Sara Victor Laura Martin Julia Oscar Nora Samuel "
    "Alice Henry Clara Robert Emma Daniel Rosa Philip Diana Leo Irene Simon Vera Paul Lydia Arthur Olga George Teresa "
    "Max Sofia Hugo Marta Felix Ida Bruno Nina Conrad Elena Walter Silvia Albert Monica Oliver Stella Frank Eva Adam "
    "Judith Karl Ruth Ernest Flora"
)

NAME_STARTS = (
    "Bar Bel Bor Cal Cam Car Chan Cor Dal Dan Del Dor Fal Fau Fen Gal Gar Hal Har Hol Jan Jen Kal Kar Kel Kor Lan Lar "
    "Lin Lor Mal Mar Mel Mor Nar Nel Nor Pal Par Pel Por Ral Ram Rol Sal San Sel Shar Sol Tal Tan Tar Tel Thor Tor Val "
    "Van Ver Vol Wal Wen Wil Yar Zel"
).split()
NAME_MIDDLES = ("", *"ber den do ga ka li ma ni ro sta ti vi ze".split())
NAME_ENDINGS = {
    "people": "ci der dez er ek ini ley man ner nov ov ski son stein ton well wood ano is mer".split(),
    "city": "burg ton ville ford pol grad mouth field bridge haven dorf mere".split(),
    "river": "dena ronde nira sune talba vesso rima gora rube dine lova kura".split(),
}

ONSETS = "b bl br c cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sc sh sl sn sp st t th tr tw v w".split()
NUCLEI = "a a e e i i o o u ai ea oo ou".split()
CODAS = "b ck d ft g ld ll m mp n nd ng nk nt p r rd rk rm rn rt sh sk st t tch x".split()
ENDINGS = {
    "noun": ("", *"er le et ow en".split()),
    "verb": ("", *"le er en".split()),
    "adjective": tuple("y ish al ous ent".split()),
}
