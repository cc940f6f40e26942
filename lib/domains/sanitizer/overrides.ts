import { Offsets, withoutSigns } from './disguises.ts'
import type { Range } from './markdown-lines.ts'

/** Signs that may stand between words in place of a space, or beside it. */
export const GAP = '[\\s*`"\'>,:]{1,8}'
const within = '[\\s*`"\'「」『』“”，,]{0,3}'

/** Accents, invisible characters, Arabic vowel signs and the tatweel. */
const ACCENTS = /[\u0300-\u036f\u064b-\u065f\u0670\u0640\p{Cf}]/gu
const NOT_ASCII = /[^\0-\x7f]/
const NOT_ASCII_CHARACTERS = /[^\0-\x7f]/gu
/** Letters without a decomposition that people write without their stroke or dot, and the apostrophe. */
const STROKES: Readonly<Record<string, string>> = { ß: 'ss', ı: 'i', ł: 'l', đ: 'd', '’': "'" }
/** Lower case without accents, invisible characters and full-width forms: people omit accents. Capitals have SS for ß. */
export const plain = (text: string): string =>
  NOT_ASCII.test(text)
    ? text
        .toLowerCase()
        .normalize('NFKD')
        .toLowerCase()
        .replace(ACCENTS, '')
        .replace(/[ßıłđ’]/g, (letter) => STROKES[letter] ?? letter)
    : text.toLowerCase()
/** Lengths of single characters in {@link plain}. */
const lengths = new Map<string, number>()
const mostLengths = 20_000
function lengthOf(character: string): number {
  const known = lengths.get(character)
  if (known !== undefined) return known
  const { length } = plain(character)
  if (lengths.size >= mostLengths) lengths.clear()
  lengths.set(character, length)
  return length
}
/** Maps offsets in {@link plain} to the text. */
function offsetsOf(text: string): Offsets {
  const offsets = new Offsets()
  for (const { 0: character, index } of text.matchAll(NOT_ASCII_CHARACTERS))
    offsets.add(index, character.length, lengthOf(character))
  return offsets
}

/** Alternatives as a pattern: white space within a phrase may be of any form. */
const anyOf = (words: string): string => `(?:${plain(words).replaceAll(' ', '[\\s*`]{1,8}')})`

/**
 * Words of orders to ignore previous instructions, in languages other than English. Each field is a list of alternatives: verbs, words for
 * "previous", words for "instructions", and words allowed in between.
 */
interface OverrideWords {
  verbs: string
  prior: string
  orders: string
  fill: string
  /** Verbs that follow their object, or their object and a word such as "把". */
  verbsLast?: string
  /** Verbs whose second part follows the object: "befolge … nicht". */
  split?: { verbs: string; parts: string }
  /** Names of the text that a model was given first: to ignore it needs no word for "previous". */
  own: string
  /** "no longer apply", "are void": predicates of the instructions. */
  lapsed: string
  /** Words for "all" and "your". With one of them, such a sentence is an order; without, it may be about a manual. */
  every: string
  /** The object always precedes the verb. */
  verbLast?: true
  /** Words are not separated by spaces. */
  joined?: true
  /** A word before a verb that forbids it: "do not forget". */
  negation?: string
  /** When an order is certain. Without this field every order is; with it, any other one is only doubtful. */
  certain?: CertainWords
}
interface CertainWords {
  /** Words for instructions and rules that are given to a model. */
  orders: string
  /** Words that may precede an order in its clause. */
  leads: string
  /** Words that begin a condition after the order. */
  conditions: string
}

const spanish: OverrideWords = {
  verbs:
    'ignora|ignore|ignorad|ignoren|ignorar|ignores|olvida|olvide|olvidad|olviden|olvidar|olvídate de|olvídese de|desestima|desestime|descarta|descarte|omite|omita|anula|anule|sobrescribe|sobrescriba|sáltate|incumple|desobedece|desoye|elimina|pasa por alto|pase por alto|prescinde de|prescinda de|haz caso omiso (?:de|a)|haga caso omiso (?:de|a)|hacer caso omiso (?:de|a)|no hagas caso (?:de|a)|no haga caso (?:de|a)|no sigas|no siga|no tengas en cuenta|no tenga en cuenta|no obedezcas|deja de seguir|deje de seguir|deja de lado|deje de lado|invalida|invalide|borra de tu memoria|borra|deja de obedecer|deje de obedecer|deja de cumplir|no obedezca|no cumplas|no respetes|haz como si no hubieras (?:recibido|leído|visto)|haga como si no hubiera (?:recibido|leído)|actúa como si no hubieras recibido|finge que no (?:recibiste|has recibido|existen)',
  prior:
    'anteriores|anterior|previas|previa|previos|previo|originales|precedentes|de arriba|arriba|antes|hasta ahora|hasta aquí|iniciales|recibidas|recibidos|dadas|dichas|que te dieron|que recibiste|que te han dado|que te dije|que te dijeron',
  orders:
    'instrucciones|instrucción|indicaciones|indicación|órdenes|orden|regla|norma|directriz|pauta|reglas|normas|directrices|directivas|pautas|prompts?|mensajes|restricciones|todo lo|todo|lo|al contexto|contexto|cuanto|comandos',
  fill: 'tu|su|mi|ha|había|mas|más|a las|todas|todos|todo|toda|cualquier|cualesquiera|las|los|la|el|tus|sus|mis|estas|esas|y|o|del|de|a|que|sistema|siguientes|por favor|ya|has|hayas|recibido|completamente|por completo|inmediatamente|se|te|han|dado|dicho|dijeron|dije|dieron',
  split: {
    verbs: 'deja|deje|dejad|pon|ponga',
    parts: 'de lado|a un lado|sin efecto|al margen',
  },
  own: 'prompt (?:de|del) sistema|mensaje (?:de|del) sistema|instrucciones (?:de|del) sistema|prompt inicial',
  lapsed:
    'ya no (?:son válidas|son validos|se aplican|valen|aplican|rigen|tienen validez|tienen efecto)|(?:quedan|están|son) (?:anuladas|canceladas|invalidadas|sin efecto|derogadas|nulas)|dejan de (?:aplicarse|ser válidas|tener efecto)',
  every: 'todas|todos|tus|sus',
}
const french: OverrideWords = {
  verbs:
    'ignore|ignorez|ignorer|oublie|oubliez|oublier|néglige|négligez|négliger|annule|annulez|outrepasse|outrepassez|contourne|contournez|enfreins|désobéis à|désobéis aux|écarte|écartez|abandonne|abandonnez|efface|effacez|supprime|supprimez|passe outre|passez outre|fais fi de|faites fi de|faire fi de|fais fi des|faites fi des|ne tiens pas compte|ne tenez pas compte|ne tiens plus compte|ne tenez plus compte|ne tenir aucun compte|ne tiens aucun compte|ne tenez aucun compte|fais abstraction|faites abstraction|ne suis pas|ne suivez pas|ne suis plus|ne suivez plus|ne respecte pas|ne respectez pas|ne respecte plus|ne respectez plus|cesse de suivre|cessez de suivre|arrête de suivre|arrêtez de suivre|laisse tomber|laissez tomber|laisse de côté|laissez de côté|mets de côté|mettez de côté|cesse d.obéir|cessez d.obéir|arrête d.obéir|arrêtez d.obéir|n.obéis plus|n.obéissez plus|n.obéis pas|n.obéissez pas|(?:fais|faites) comme si (?:tu|vous) n.(?:avais|aviez) (?:pas|jamais) (?:reçu|lu|vu)',
  prior:
    'précédentes?|précédents?|antérieures?|antérieurs?|ci-dessus|plus haut|préalables|passées|passés|reçues|reçus|données|donnés|avant|auparavant|initiales|jusqu.ici|jusqu.à présent|précède|dit',
  orders:
    'instructions?|consignes?|directives?|règles?|ordres?|indications?|prompts?|messages?|recommandations|restrictions|contraintes|contexte|commandes|tout ce|ce qui|ce que|ce qu|tout',
  fill: 'ton|votre|ta|ensemble|l.ensemble|toutes|tous|tout|les|le|la|des|de|du|tes|vos|mes|ces|et|ou|d|l|système|suivantes|aux?|que|qu|tu|as|vous|avez|qui|t.ont|été|t.a|on|a|s.il vous plaît|s.il te plaît|complètement|totalement|immédiatement|ont|précède|je|j.ai',
  split: { verbs: 'mets|mettez|laisse|laissez', parts: 'de côté' },
  own: 'prompt (?:du )?système|message (?:du )?système|instructions (?:du )?système|consignes (?:du )?système|prompt initial',
  lapsed:
    'ne (?:sont|s.appliquent|valent|tiennent|comptent) plus(?: valables?| valides?| en vigueur)?|(?:sont|ont été) (?:annulées|annulés|caduques|nulles|abrogées|levées|révoquées)',
  every: 'toutes|tous|tes|vos|ensemble',
}
const german: OverrideWords = {
  verbs:
    'ignoriere|ignorier|ignorieren sie|ignoriert|ignorieren|vergiss|vergesse|vergessen sie|vergesst|vergessen|missachte|missachten sie|missachtet|mißachte|übergehe|übergehen sie|verwirf|verwerfen sie|verwerft|überschreibe|überschreiben sie|überschreib|umgehe|umgehen sie|streiche|streichen sie|lösche|löschen sie|widerrufe|widersetze dich|breche|befolge nicht|befolge keine|befolge nicht mehr|beachte nicht|beachte keine|beachte nicht mehr|folge nicht|folge nicht mehr|halte dich nicht an|halte dich nicht mehr an|sieh ab von|sehen sie ab von|pfeif auf|halten sie sich nicht an|halten sie sich nicht mehr an|hör auf|gehorche nicht|gehorche nicht mehr',
  prior:
    'vorherigen?|vorherige[rn]|bisherigen?|vorigen?|früheren?|obigen?|obenstehenden?|vorangegangenen?|vorhergehenden?|vorangehenden?|vorausgehenden?|vorausgegangenen?|vorangestellten|ursprünglichen?|anfänglichen?|ersten|letzten|alten|zuvor|vorher|bisher|bislang|oben|davor|gesagte|gesagt|gegebenen',
  orders:
    'anweisungen|anweisung|instruktionen|instruktion|befehle|befehl|regeln|vorgaben|anordnungen|prompts?|aufforderungen|richtlinien|hinweise|vorschriften|einschränkungen|aufträge|weisungen|kontext|nachrichten|leitlinien|bestimmungen|alles',
  fill: 'alle|allen|aller|alles|sämtliche|sämtlichen|jegliche|die|der|den|das|was|deine|deinen|ihre|ihren|meine|diese|dir|über|ich|wurde|und|oder|nachfolgenden|folgenden|bitte|du|sie|sofort|einfach|jetzt|ab|komplett|vollständig|erhalten|hast|haben|habe|bekommen|gegeben|gesagt|stehenden|system|dich|mal',
  verbsLast:
    'ignorieren|ignoriere|vergessen|missachten|verwerfen|überschreiben|umgehen|übergehen|streichen|nicht befolgen|nicht beachten|nicht mehr befolgen|nicht mehr beachten|außer acht lassen|außer kraft setzen|nicht zu befolgen|zu ignorieren|zu vergessen|zu missachten|zu verwerfen',
  split: {
    verbs:
      'tu so,? als hättest du|tun sie so,? als hätten sie|befolge|befolgen sie|befolgt|beachte|beachten sie|folge|folgen sie|lass|lasse|lassen sie|setze|setz|setzen sie|setze dich|setz dich|setzen sie sich|hebe|heb|schiebe|wirf|leg|lege|legen sie|berücksichtige|berücksichtigen sie|befolg',
    parts:
      'nicht|nicht mehr|nicht länger|außer acht|außer kraft|außen vor|auf|beiseite|weg|ab|hinweg|links liegen|über bord|nie erhalten|nicht erhalten|nie bekommen|nie gelesen|niemals erhalten',
  },
  own: 'system-?prompts?|system prompts?|systemanweisung|systemanweisungen|systemnachricht|anfangsprompt',
  lapsed:
    '(?:gelten|zählen) (?:ab sofort |ab jetzt |jetzt |nun )?(?:nicht mehr|nicht länger)|(?:sind|werden) (?:ab sofort |ab jetzt |hiermit |nun )?(?:ungültig|aufgehoben|nichtig|hinfällig|widerrufen|außer kraft|null und nichtig)',
  every: 'alle|sämtliche|deine|ihre|aller',
}
const portuguese: OverrideWords = {
  verbs:
    'ignore|ignora|ignorem|ignorar|esqueça|esquece|esqueçam|esquecer|esqueça-se de|desconsidere|desconsidera|desconsiderem|desconsiderar|despreze|despreza|descarte|descarta|anule|anula|substitua|sobrescreva|desobedeça|desobedece|abandone|contorne|apague|elimine|revogue|viole|burle|não siga|não sigas|não obedeça|não cumpra|não leve em conta|não leve em consideração|não considere|não respeite|pare de seguir|deixe de seguir|deixa de seguir|deixe de lado|deixa de lado|faça pouco caso de|passe por cima de|não dê atenção (?:a|as)|não ligue para|omita|pare de obedecer|deixe de obedecer|não acate|finja que não (?:recebeu|leu|viu|existem)|aja como se não tivesse (?:recebido|lido)',
  prior:
    'anteriores|anterior|prévias|prévia|prévios|prévio|originais|acima|precedentes|antes|até agora|até aqui|iniciais|recebidas|recebidos|dadas|dados|passadas|anteriormente',
  orders:
    'instruções|instrução|orientações|orientação|ordens|ordem|regra|diretriz|regras|normas|diretrizes|diretivas|comandos|prompts?|mensagens|restrições|indicações|contexto|tudo o|tudo|o que|aquilo',
  fill: 'seu|teu|sua|tua|meu|mais|à|às|ao|aos|todas|todos|toda|todo|quaisquer|qualquer|as|os|a|o|suas|seus|tuas|minhas|essas|estas|e|ou|do|da|de|das|dos|sistema|seguintes|por favor|que|você|recebeu|foram|foi|já|te|lhe|completamente|totalmente|imediatamente|dito|disse|disseram|veio|está|escrito',
  split: { verbs: 'deixe|deixa|ponha|põe|coloque', parts: 'de lado|de parte|sem efeito' },
  own: 'prompt (?:de|do) sistema|mensagem (?:de|do) sistema|instruções (?:de|do) sistema|prompt inicial',
  lapsed:
    '(?:não|já não) (?:valem|se aplicam|são válidas|têm validade|têm efeito|vigoram)(?: mais)?|(?:estão|são|foram|ficam) (?:anuladas|canceladas|revogadas|sem efeito|nulas|suspensas)|deixam de (?:valer|ser válidas)',
  every: 'todas|todos|suas|tuas|seus',
}
const russian: OverrideWords = {
  verbs:
    'игнорируй|игнорируйте|игнорировать|проигнорируй|проигнорируйте|проигнорировать|забудь|забудьте|забыть|забудь про|забудь обо|забудь о|забудьте про|забудьте обо|забудьте о|отбрось|отбросьте|отбросить|отмени|отмените|отменить|пренебреги|пренебрегите|пренебречь|аннулируй|аннулируйте|сбрось|сбросьте|нарушь|нарушьте|обойди|обойдите|переопредели|переопределите|перезапиши|отвергни|отвергните|откажись от|откажитесь от|удали|сотри|не обращай внимания на|не обращайте внимания на|не следуй|не следуйте|не учитывай|не учитывайте|не выполняй|не выполняйте|не соблюдай|не соблюдайте|не слушай|не слушайте|перестань следовать|перестаньте следовать|прекрати следовать|прекратите следовать|перестань выполнять|оставь без внимания|оставьте без внимания|не придерживайся|не принимай во внимание|выкинь из головы|больше не следуй|больше не следуйте|больше не выполняй|больше не соблюдай|(?:сделай|сделайте) вид,? что не (?:получал|получала|получали|читал|видел)|веди себя так,? будто не получал',
  prior:
    'предыдущие|предыдущих|предыдущим|предыдущими|прежними|прошлыми|предыдущее|предыдущую|прежние|прежних|прежним|прошлые|прошлых|прошлым|ранние|прежде|предшествующие|предшествующих|предшествующим|вышеуказанные|вышеперечисленные|вышеизложенные|вышеописанные|вышестоящие|первоначальные|первоначальных|изначальные|изначальных|исходные|исходных|старые|выше|ранее|раньше|до этого|до этого момента|до сих пор|данные ранее|полученные ранее|вышесказанное|было сказано',
  orders:
    'инструкции|инструкций|инструкциям|инструкциями|инструкцию|указания|указаний|указаниям|указаниями|команды|команд|командам|правила|правил|правилам|правилами|приказы|приказов|директивы|директив|промпты|промпт|подсказки|распоряжения|распоряжений|установки|установок|ограничения|ограничений|требования|требований|настройки|контекст|сообщения|все что|всё|все|всем',
  fill: 'все|всё|всех|всем|всеми|любые|любых|свои|своих|своим|твои|ваши|мои|эти|этих|и|или|что|тебе|вам|я|мной|последующие|системные|системных|которые|которым|ты|вы|получил|получили|были|был|было|даны|данные|дали|дал|сказано|говорил|говорили|сказали|пожалуйста|полностью|немедленно|просто|написано|указанные|следуй|свой|о|об|обо|про',
  own: 'системный промпт|системном промпте|системные инструкции|системную подсказку|системных инструкций',
  lapsed:
    '(?:больше )?не (?:действуют|действительны|имеют силы|применяются|актуальны)|(?:больше )?(?:недействительны|отменены|отменяются|аннулированы|утратили силу|утрачивают силу)',
  every: 'все|всё|твои|ваши',
}
const arabic: OverrideWords = {
  verbs:
    'تجاهل|تجاهلي|تجاهلوا|تجاهلن|بتجاهل|أن تتجاهل|تتجاهل|انس|انسى|انسوا|إنس|تنسى|نسيان|أهمل|أهملي|أهملوا|إهمال|لا تتبع|لا تتبعي|لا تلتزم ب|لا تلتزم|لا تنفذ|لا تطبق|لا تأخذ بعين الاعتبار|توقف عن اتباع|توقف عن تنفيذ|تخطى|تخط|تخل عن|تغاضى عن|تغاض عن|اصرف النظر عن|صرف النظر عن|غض النظر عن|غض الطرف عن|تجاوز|ألغ|الغ|ألغي|إلغاء|اترك|دع عنك|احذف|امسح|خالف|اطرح|استبدل|اضرب عرض الحائط ب|لا تهتم ب|لا تبال ب|لا تلتفت إلى|لا تكترث ب|تخلص من|تناس|كف عن اتباع|(?:تصرف|تظاهر) (?:وكأنك|كأنك|بأنك|كما لو أنك) لم (?:تتلق|تقرأ|تستلم)',
  prior:
    'السابقة|السابق|سابقة|السالفة|السالفة الذكر|أعلاه|الماضية|المذكورة|المتقدمة|القديمة|الأولية|الأصلية|المعطاة|الواردة|سابقا|مسبقا|حتى الآن|التي سبقت|سبق|من قبل|قبل ذلك|قبل هذا|قبل',
  orders:
    'التعليمات|للتعليمات|بالتعليمات|الأوامر|للأوامر|بالأوامر|التوجيهات|بالتوجيهات|الإرشادات|القواعد|بالقواعد|القيود|الضوابط|التوصيات|الرسائل|السياق|تعليمات|تعليماتك|أوامر|توجيهات|إرشادات|قواعد|كل ما|كل شيء|ما|المطالبات',
  fill: 'جميع|كل|كافة|أي|هذه|تلك|و|أو|التي|الذي|تلقيتها|تلقيت|أعطيت|أعطيتك|أعطيت لك|لك|إياها|اللاحقة|من|من فضلك|رجاء|تماما|فورا|قيل|ذكر|قلته|قلت|تم|ورد|كان|النظام|إليك|عن|ب|بعد الآن|إلى',
  own: 'موجه النظام|تعليمات النظام|مطالبة النظام|رسالة النظام',
  lapsed:
    '(?:لم تعد|لا تعد|ما عادت) (?:سارية|صالحة|سارية المفعول|نافذة|تنطبق|قائمة)|(?:باتت |أصبحت |تعتبر )?(?:ملغاة|لاغية|باطلة)',
  every: 'جميع|كل|كافة|تعليماتك|أوامرك',
}
const hindi: OverrideWords = {
  verbs: 'अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|इग्नोर|उपेक्षा|अनदेखी|रद्द|मत मानो|मत मानिए|पालन मत|पालन न|छोड़|दरकिनार|ओवरराइड|हटा',
  prior: 'पिछले|पिछली|पहले|पूर्व|उपरोक्त|ऊपर|पुराने|अब तक',
  orders: 'निर्देशों|निर्देश|आदेशों|आदेश|नियमों|नियम|हिदायतों|अनुदेशों|बातों|बातें|प्रॉम्प्ट|संदेशों',
  fill: 'सभी|के|की|को|का|दिए|दी|गए|गई|में|से|सब|सारे|सारी|अपने|मेरे|इन|उन|और|पूरी|तरह|कृपया|जो|कुछ|हुए',
  own: 'सिस्टम प्रॉम्प्ट|सिस्टम निर्देश',
  lapsed: 'अब मान्य नहीं|अब लागू नहीं|रद्द हैं',
  every: 'सभी|सब|सारे|आपके',
  verbLast: true,
}
const chinese: OverrideWords = {
  verbs:
    '不要再(?:遵守|遵循|理会|理會|执行|听从)|不再理会|别理会|別理會|别再(?:遵守|遵循|理会|听)|不用再(?:遵守|理会)|无需(?:遵守|理会|遵循)|无须遵守|不必遵守|装作没(?:看到|收到)|假装没(?:看到|收到)|当作没(?:看到|收到)|停止听从|拒绝遵守|拒绝执行|忽略|略过|无视|忽视|忘记|忘掉|忘了|忘却|遗忘|不要理会|不必理会|不用理会|不理会|不要遵守|不要遵循|不再遵守|不再遵循|不要执行|不要听从|停止遵循|停止遵守|停止执行|别管|不要管|不用管|不管|别理|别听|不要听|抛开|抛弃|拋棄|抛诸脑后|丢弃|丢掉|扔掉|摒弃|舍弃|放弃|撇开|推翻|撤销|作废|废除|违反|违背|绕过|绕开|覆盖|覆蓋|清除|抹去|抹掉|重置|不顾|忽視|無視|忘記|請忽略|请忽略',
  prior:
    '之前|以前|先前|上述|上面|以上|前面|前边|前文|上文|此前|前述|之前的|早先|早前|原先|原来|原有|最初|初始|既有|刚才|剛才|迄今|到目前为止|目前为止',
  orders:
    '指令|指示|命令|提示词|提示詞|提示|规则|規則|规定|規定|准则|要求|设定|設定|指引|指导|约束|限制|对话|上下文|说明|訊息|消息|内容|的话|一切|指南|吩咐',
  fill: '所有|全部|一切|任何|的|你|您|我|我们|收到|给出|给|到|过|那些|这些|系统|系統|及|和|与|其他|你的|關於|关于|所|说|都|掉|请|立即|完全|彻底|现在|告诉|告知|下达|下达的|对|被|了|吧|給|任務|提供|输入|有|过的|说过|统统|通通|全数|悉数|把|将|最|中|里',
  verbsLast:
    '忽略|忘掉|忘记|忘記|忘了|无视|無視|抛开|抛弃|抛到脑后|抛诸脑后|丢掉|丢弃|扔掉|作废|作廢|清除|抹去|当作不存在|视为无效|推翻|覆盖|放到一边|放在一边|撇开|不用管|不要管|不必遵守|不要遵守',
  own: '系统提示词|系統提示詞|系统指令|系統指令|你的系统提示|你的系统设定|初始提示词',
  lapsed:
    '(?:已经|已|现已|现在|即刻起|从现在起)?(?:全部|一律|统统|全都|都|均)?(?:不再有效|不再适用|无效|失效|作废|取消(?!了)|废止)',
  every: '所有|全部|一切|任何|统统|一律|你|您',
  joined: true,
}
const japanese: OverrideWords = {
  verbs:
    '受け取らなかったこと|受けなかったこと|読まなかったこと|なかったもの|もう従わ|従う必要|耳を貸さ|無視|忘れ|忘却|破棄|従わ|従うな|上書き|取り消|捨て|無効|リセット|考慮しない|気にしない|守らない|守るな|放棄|スルー|置き換え|撤回|消去|度外視|白紙|なかったこと',
  prior: '以前|これまで|今まで|いままで|ここまで|上記|先ほど|先程|さっき|前述|直前|既存|過去|最初|元|事前|前|上',
  orders:
    '指示|命令|指令|プロンプト|ルール|規則|設定|インストラクション|ガイドライン|制約|指図|言われたこと|言ったこと|注意事項|内容|文脈|メッセージ|会話',
  fill: 'の|すべて|全て|全部|あらゆる|一切|に|与え|られ|た|受け|を|は|も|、|内容|システム|で|完全|と|および|や|だ|さい|今|すぐ|もう|どうか|いったん|一旦|出さ|れ|し|て|い|る|き|ている|こと|事項|までの|には|から|なさ|こと|以降|今後|もはや',
  own: 'システムプロンプト|システム指示|システムメッセージ',
  lapsed:
    'もう有効で(?:は)?(?:ありません|ない)|もはや有効で(?:は)?(?:ありません|ない)|適用され(?:ません|ない)|効力を失|有効ではなくな',
  every: 'すべて|全て|全部|一切|あなた',
  verbLast: true,
  joined: true,
}
const korean: OverrideWords = {
  verbs:
    '받지 않은 것처럼|받은 적 없는|없었던 것처럼|못 본 것처럼|따를 필요|무시|잊어|잊으|잊고|잊도록|따르지|따를 필요|버려|버리|덮어|취소|무효|폐기|신경 쓰지|신경쓰지|지워|지우|배제|제외|어겨|어기|거부|삭제|초기화|고려하지|준수하지|지키지|거스르|벗어나|철회',
  prior:
    '(?<![ᄀ-ᇿ])위|처음|이전|앞선|앞의|앞에|위의|위에|지금까지|여태까지|기존|상기|앞서|이전의|이전에|과거|먼저|전에|원래|최초|초기',
  orders: '지시|명령|지침|프롬프트|규칙|설정|안내|지령|가이드라인|내용|제약|메시지|대화|말|요청',
  fill: '모든|모두|의|에|를|을|은|는|사항|들|받은|받았던|내린|내려진|전부|전체|다|내용|시스템|주어진|주어졌던|제공된|및|와|과|완전히|완전|하고|이제|부디|제발|그냥|싹|더|이상|절대|했던|한|말한|들은|알려준|제시된|있는|있던|에서|따위|따윈|이|가|도|까지|있|했|던|더는|더|너의|네|당신의|에 대해',
  own: '시스템 프롬프트|시스템 지시|시스템 메시지|시스템 명령',
  lapsed: '더 ?이상 (?:유효하지|적용되지)|효력이 없|효력을 잃',
  every: '모든|모두|전부|너의|당신의',
  verbLast: true,
  joined: true,
}

const italian: OverrideWords = {
  verbs:
    'ignora|ignori|ignorate|ignorare|dimentica|dimentichi|dimenticate|dimenticare|dimenticati di|scorda|scordati|trascura|trascuri|trascurate|scarta|scarti|annulla|annulli|sovrascrivi|elimina|cancella|abbandona|tralascia|omette|ometti|salta|aggira|viola|disattendi|disobbedisci a|non seguire|non seguite|non segua|non seguire più|non rispettare|non rispettate|non obbedire a|non obbedire|non considerare|non tenere conto di|non tenere conto|non tener conto|non tenga conto|non badare a|non badare|non dare retta a|smetti di seguire|smettete di seguire|smetti di obbedire a|lascia perdere|lasciate perdere|lascia stare|metti da parte|mettete da parte|passa sopra a|fai finta di non aver (?:ricevuto|letto)',
  prior:
    'precedenti|precedente|anteriori|passate|passati|di prima|prima|finora|fin qui|fino a ora|fino a qui|sopra|qui sopra|di cui sopra|soprastanti|iniziali|originali|originarie|ricevute|ricevuti|date|già date|pregresse|antecedenti',
  orders:
    'istruzioni|istruzione|indicazioni|direttive|direttiva|regole|norme|ordini|comandi|prompts?|messaggi|linee guida|disposizioni|consegne|vincoli|restrizioni|contesto|tutto ciò|tutto quello',
  fill: 'tutte|tutti|tutto|ogni|qualsiasi|qualunque|le|i|gli|la|lo|il|l|delle|dei|degli|della|del|di|alle|ai|agli|che|ti|sono|state|stati|è|stato|hai|ho|ricevuto|dato|detto|e|o|tue|tuoi|tua|mie|sue|queste|quelle|sistema|seguenti|per favore|completamente|immediatamente|fino|a|da|più|ora',
  split: { verbs: 'metti|mettete|metta|lascia|lasciate', parts: 'da parte|perdere|stare' },
  own: 'prompt (?:di|del) sistema|messaggio (?:di|del) sistema|istruzioni (?:di|del) sistema|prompt iniziale',
  lapsed:
    'non (?:sono più valide|valgono più|si applicano più|hanno più valore|hanno più effetto)|(?:sono|vengono) (?:annullate|nulle|revocate|superate|abrogate|cancellate)',
  every: 'tutte|tutti|tue|tuoi',
  negation: 'non|mai',
  certain: {
    orders: 'istruzioni|direttive|regole|norme|linee guida',
    leads: 'per favore|ora|adesso|e|poi|quindi|allora',
    conditions: 'se|quando|qualora|per|in|nel|nella|del|della',
  },
}
const dutch: OverrideWords = {
  verbs:
    'negeer|negeert|negeren|vergeet|vergeten|veronachtzaam|sla over|omzeil|overschrijf|annuleer|wis|verwijder|schrap|verwerp|volg niet|volg niet langer|volg niet meer|volg geen|gehoorzaam niet|luister niet naar|luister niet meer naar|stop met het volgen van|stop met volgen van|let niet op|doe alsof je geen|trek je niets aan van|houd je niet aan|houd je niet meer aan|houd geen rekening met|hou geen rekening met|houd geen rekening meer met',
  prior:
    'vorige|eerdere|voorgaande|voorafgaande|bovenstaande|hierboven|bovengenoemde|oorspronkelijke|initiële|eerder|tot nu toe|tevoren|daarvoor|oude|gegeven',
  orders:
    'instructies|instructie|aanwijzingen|opdrachten|opdracht|regels|richtlijnen|bevelen|voorschriften|prompts?|commando.s|berichten|beperkingen|context|alles',
  fill: 'alle|al|de|het|die|deze|je|jouw|uw|mijn|van|wat|dat|en|of|hebt|heb|is|zijn|gekregen|ontvangen|gezegd|systeem|volgende|alsjeblieft|volledig|onmiddellijk|ooit|eventuele',
  split: {
    verbs: 'volg|laat|leg|zet|sla|schuif|gooi|houd|hou|lap|gehoorzaam',
    parts:
      'niet|niet meer|niet langer|los|naast je neer|opzij|in de wind|terzijde|overboord|aan je laars|over|achterwege',
  },
  own: 'systeemprompt|systeembericht|systeeminstructies',
  lapsed:
    '(?:gelden|tellen) (?:niet meer|niet langer)|(?:zijn|worden) (?:ongeldig|vervallen|ingetrokken|nietig|niet meer geldig|niet langer geldig)',
  every: 'alle|jouw|uw',
  negation: 'niet|nooit',
  certain: {
    orders: 'instructies|aanwijzingen|regels|richtlijnen|voorschriften',
    leads: 'alsjeblieft|alstublieft|nu|en|dan|dus',
    conditions: 'als|indien|wanneer|tenzij|voor|in|uit|over als|over indien',
  },
}
const polish: OverrideWords = {
  verbs:
    'zignoruj|zignorujcie|ignoruj|ignorujcie|zignorować|ignorować|zapomnij o|zapomnij|zapomnijcie o|zapomnieć o|pomiń|pomijaj|pomińcie|odrzuć|odrzućcie|porzuć|anuluj|unieważnij|skasuj|usuń|nadpisz|obejdź|złam|zlekceważ|lekceważ|nie przestrzegaj|nie stosuj się do|nie stosuj|nie wykonuj|nie słuchaj|nie zważaj na|nie zwracaj uwagi na|nie bierz pod uwagę|nie kieruj się|nie uwzględniaj|przestań przestrzegać|przestań stosować się do|przestań wykonywać|wyrzuć z pamięci|udawaj,? że nie (?:otrzymałeś|dostałeś|było)',
  prior:
    'poprzednie|poprzednich|poprzednimi|poprzednim|wcześniejsze|wcześniejszych|wcześniejszymi|powyższe|powyższych|powyższymi|dotychczasowe|dotychczasowych|dotychczasowymi|uprzednie|uprzednich|pierwotne|pierwotnych|początkowe|początkowych|stare|starych|wcześniej|powyżej|do tej pory|dotąd|przedtem',
  orders:
    'instrukcje|instrukcji|instrukcjach|instrukcjami|polecenia|poleceń|poleceniach|poleceniami|zasady|zasad|zasadach|zasadami|reguły|reguł|regułach|wytyczne|wytycznych|wytycznymi|rozkazy|rozkazów|rozkazach|wskazówki|wskazówek|wskazówkach|dyrektywy|dyrektyw|ograniczenia|ograniczeń|prompty|prompt|komendy|komend|kontekst|wszystko',
  fill: 'wszystkie|wszystkich|wszelkie|wszelkich|każde|swoje|swoich|twoje|twoich|moje|te|tych|i|oraz|lub|co|które|których|dane|podane|otrzymane|otrzymałeś|dostałeś|systemowe|systemowych|proszę|całkowicie|natychmiast|całkiem|o',
  own: 'prompt systemowy|prompcie systemowym|instrukcje systemowe|instrukcji systemowych|wiadomość systemową',
  lapsed:
    '(?:już )?nie (?:obowiązują|mają zastosowania|są ważne)|(?:są|zostają|zostały) (?:nieważne|anulowane|unieważnione|uchylone)',
  every: 'wszystkie|twoje|wszelkie',
  negation: 'nie|nigdy',
  certain: {
    orders:
      'instrukcje|instrukcji|instrukcjach|instrukcjami|zasady|zasad|zasadach|zasadami|reguły|reguł|regułach|wytyczne|wytycznych|wytycznymi|dyrektywy|dyrektyw',
    leads: 'proszę|teraz|i|oraz|potem|więc',
    conditions: 'jeśli|jeżeli|gdy|kiedy|dla|w|z',
  },
}
const turkish: OverrideWords = {
  verbs:
    'yok say|yok sayın|yoksay|yoksayın|görmezden gel|görmezden gelin|göz ardı et|göz ardı edin|gözardı et|gözardı edin|unut|unutun|boş ver|boşver|dikkate alma|dikkate almayın|uyma|uymayın|uymayı bırak|takip etme|takip etmeyin|uygulama|uygulamayın|iptal et|iptal edin|geçersiz say|geçersiz kıl|sil|silin|bir kenara bırak|bir kenara bırakın|hiçe say|önemseme|aldırma|aldırış etme|itaat etme|umursama|çiğne|reddet|bırak',
  prior:
    'önceki|daha önceki|evvelki|yukarıdaki|yukarıda|şimdiye kadarki|şimdiye kadar|daha önce|bundan önceki|geçmiş|ilk|orijinal|eski|önce|verilmiş|verilen',
  orders:
    'talimatları|talimatlara|talimatlarını|talimatlarına|talimatların|talimatı|talimat|yönergeleri|yönergelere|yönergelerini|kuralları|kurallara|kurallarını|komutları|komutlara|emirleri|emirlere|direktifleri|direktiflere|istemleri|promptları|promptu|mesajları|kısıtlamaları|yönlendirmeleri|söylenenleri',
  fill: 'tüm|bütün|her|hepsini|sana|size|bana|sistem|ve|veya|bu|o|verilen|verilmiş|aldığın|aldığınız|tamamen|hemen|lütfen|artık|olan|tümünü|daha|söylenen',
  own: 'sistem istemini|sistem promptunu|sistem talimatlarını|sistem mesajını',
  lapsed: '(?:artık )?(?:geçersiz|geçerli değil|geçersizdir|geçerli değildir|iptal edildi|yürürlükten kalktı)',
  every: 'tüm|bütün',
  verbLast: true,
  certain: {
    orders:
      'talimatları|talimatlara|talimatlarını|talimatlarına|yönergeleri|yönergelere|yönergelerini|kuralları|kurallara|kurallarını|direktifleri|direktiflere',
    leads: '',
    conditions: '(?!(?:ve|sonra|ardından|şimdi|bunun yerine)(?![a-z]))[a-z]+',
  },
}
const vietnamese: OverrideWords = {
  verbs:
    'bỏ qua|bỏ mặc|phớt lờ|lờ đi|quên đi|quên hết|quên|gạt bỏ|hủy bỏ|huỷ bỏ|xóa bỏ|không tuân theo|đừng tuân theo|đừng làm theo|không làm theo|ngừng tuân theo|đừng tuân thủ|không tuân thủ|đừng để ý đến|mặc kệ|vứt bỏ|ghi đè',
  prior: 'trước đó|trước đây|trước|ở trên|bên trên|phía trên|ban đầu|đã cho|đã nhận|từ trước đến nay|nêu trên',
  orders:
    'hướng dẫn|chỉ thị|chỉ dẫn|mệnh lệnh|lệnh|quy tắc|quy định|nguyên tắc|yêu cầu|lời nhắc|prompts?|ràng buộc|ngữ cảnh',
  fill: 'tất cả|mọi|toàn bộ|các|những|của|bạn|tôi|và|hoặc|đã|được|hết|cũ|hệ thống|hãy|ngay|hoàn toàn',
  own: 'lời nhắc hệ thống|hướng dẫn hệ thống|chỉ thị hệ thống',
  lapsed: 'không còn (?:hiệu lực|giá trị|áp dụng)|(?:đã|bị) (?:hủy bỏ|huỷ bỏ|vô hiệu)',
  every: 'tất cả|mọi|toàn bộ',
  negation: 'đừng|không|chớ',
  certain: {
    orders: 'hướng dẫn|chỉ thị|chỉ dẫn|mệnh lệnh|quy tắc|nguyên tắc',
    leads: 'hãy|vui lòng|xin|xin hãy|và|rồi|bây giờ',
    conditions: 'nếu|khi|trong|của|cho',
  },
}
const indonesian: OverrideWords = {
  verbs:
    'abaikan|hiraukan|lupakan|jangan ikuti|jangan patuhi|jangan turuti|jangan hiraukan|jangan pedulikan|kesampingkan|batalkan|hapus|buang|tinggalkan|langgar|berhenti mengikuti|berhenti mematuhi|timpa|tidak usah ikuti|tak usah ikuti',
  prior:
    'sebelumnya|sebelum ini|terdahulu|di atas|tadi|yang lalu|lama|awal|semula|sejauh ini|sampai sekarang|yang diberikan',
  orders: 'instruksi|perintah|petunjuk|aturan|arahan|pedoman|panduan|ketentuan|prompts?|batasan|konteks|pesan',
  fill: 'semua|seluruh|segala|setiap|yang|telah|sudah|diberikan|kamu|anda|mu|dan|atau|itu|ini|sistem|tolong|sepenuhnya|segera|dari|apa pun',
  own: 'prompt sistem|instruksi sistem|perintah sistem|pesan sistem',
  lapsed: '(?:sudah )?tidak (?:berlaku|valid|sah)(?: lagi)?|(?:telah |sudah )?(?:dibatalkan|dicabut)',
  every: 'semua|seluruh|segala',
  negation: 'jangan|tidak|tak',
  certain: {
    orders: 'instruksi|perintah|petunjuk|aturan|arahan|pedoman',
    leads: 'tolong|mohon|harap|silakan|dan|lalu|sekarang',
    conditions: 'jika|kalau|bila|apabila|ketika|saat|untuk|pada|di|dalam|dari',
  },
}

const ukrainian: OverrideWords = {
  verbs:
    'ігноруй|ігноруйте|ігнорувати|проігноруй|проігноруйте|забудь|забудьте|забудь про|забудьте про|відкинь|відкиньте|знехтуй|знехтуйте|не зважай на|не зважайте на|не виконуй|не виконуйте|не дотримуйся|не дотримуйтесь|не слухай|не слухайте|перестань виконувати|припини виконувати',
  prior:
    'попередні|попередніх|попереднім|попередніми|колишні|початкові|початкових|вищенаведені|вищенаведених|вищезазначені|вище|раніше|дотепер|досі',
  orders:
    'інструкції|інструкцій|інструкціям|інструкціями|вказівки|вказівок|вказівкам|директиви|директив|настанови|настанов',
  fill: 'усі|всі|усіх|всіх|будь-які|свої|своїх|твої|ваші|мої|ці|цих|та|і|або|що|тобі|вам|системні|системних|які|отримав|дані|надані|будь ласка|повністю|негайно|просто|про',
  own: 'системний промпт|системні інструкції|системних інструкцій',
  lapsed: '(?:більше )?не (?:діють|дійсні|чинні|застосовуються)|(?:більше )?(?:недійсні|скасовані|скасовано)',
  every: 'усі|всі|твої|ваші|усіх|всіх',
  negation: 'не',
  certain: {
    orders: 'інструкції|інструкцій|інструкціям|вказівки|вказівок|директиви|директив|настанови|настанов',
    leads: 'будь ласка|тепер|і|та|а|отже|зараз',
    conditions: 'якщо|коли|для|у|в|з|із|щодо|про',
  },
}
const swedish: OverrideWords = {
  verbs:
    'ignorera|glöm|glöm bort|bortse från|bortse ifrån|åsidosätt|följ inte|följ inte längre|lyd inte|sluta följa|sluta lyda|ta inte hänsyn till|bry dig inte om',
  prior: 'tidigare|föregående|ovanstående|ursprungliga|hittillsvarande|ovan|hittills|dittills',
  orders: 'instruktioner|instruktionerna|anvisningar|anvisningarna|direktiv|riktlinjer|riktlinjerna',
  fill: 'alla|samtliga|de|dina|mina|dessa|och|eller|som|du|har|fått|getts|givna|helt|genast|omedelbart|snälla|nu',
  own: 'systemprompten|systeminstruktionerna|systeminstruktioner',
  lapsed: 'gäller inte längre|(?:är|blir) (?:ogiltiga|upphävda|annullerade)',
  every: 'alla|samtliga|dina',
  negation: 'inte|aldrig',
  certain: {
    orders: 'instruktioner|instruktionerna|anvisningar|anvisningarna|direktiv|riktlinjer|riktlinjerna',
    leads: 'snälla|nu|och|sedan|så',
    conditions: 'om|när|för|i|på|från|ifall',
  },
}

const overrideWords: readonly OverrideWords[] = [
  spanish,
  french,
  german,
  portuguese,
  italian,
  dutch,
  polish,
  turkish,
  vietnamese,
  indonesian,
  swedish,
  russian,
  ukrainian,
  arabic,
  hindi,
  chinese,
  japanese,
  korean,
]

/** Verbs that delete and undo. */
const DELETES =
  /^(?:elimin|cancel|annul|borr|descart|supprim|effac|losch|streich|apag|scart|verwijder|annuleer|wis\s|schrap|usun|skasuj|anuluj|uniewazn|hapus|batal|buang|xoa|huy|удал|сотр|отмен|сброс)|(?:sil|silin|iptal et|iptal edin|gecersiz (?:kil|say))$/

interface Patterns {
  /** An order to ignore what was said. */
  order: string
  /** A sentence that what was said no longer applies. */
  lapsed: string
}

function patternsOf(words: OverrideWords): Patterns {
  const { verbs, prior, orders, fill, own, lapsed, verbsLast, split, verbLast, joined, negation } = words
  const allowed = negation === undefined ? '' : `(?<!(?:^|[^\\p{L}])${anyOf(negation)}\\s{1,3})`
  const [verb, before, order, other] = [anyOf(verbs), anyOf(prior), anyOf(orders), anyOf(fill)]
  const gap = joined ? within : GAP
  const some = (max: number) => `(?:${other}${gap}){0,${max}}`
  const said = `(?:${before}${gap}${some(5)}${order}|${order}${gap}${some(6)}${before})`
  const reported = `(?:${said}|${anyOf(own)})`
  const inWord = joined ? '' : '(?<![\\p{L}\\p{N}_-])'
  const endWord = joined ? '' : '(?![\\p{L}\\p{N}_-])'
  const ended = `${inWord}${some(4)}${said}${gap}${some(4)}${anyOf(lapsed)}${endWord}`
  if (verbLast)
    return { order: `${inWord}${reported}${gap}${some(6)}${verb}${isLatin(words) ? endWord : ''}`, lapsed: ended }
  const patterns = [`${inWord}${allowed}${verb}${gap}${some(6)}${reported}${endWord}`]
  if (verbsLast) patterns.push(`${inWord}${reported}${gap}${some(6)}${anyOf(verbsLast)}${endWord}`)
  if (split) {
    const first = anyOf(split.verbs)
    patterns.push(`${inWord}${first}${gap}${some(6)}${reported}${gap}${some(2)}${anyOf(split.parts)}${endWord}`)
  }
  return { order: patterns.join('|'), lapsed: ended }
}

/** Words for "instructions": without one of these the pattern cannot match. */
const signOf = ({ orders, own, joined }: OverrideWords): string =>
  joined ? anyOf(`${orders}|${own}`) : `(?<![\\p{L}\\p{N}_])${anyOf(`${orders}|${own}`)}(?![\\p{L}\\p{N}_])`
/** The letters of these words. A text that has none of them has none of the words, and one class costs a tenth of the words. */
const lettersOf = ({ orders, own }: OverrideWords): RegExp =>
  new RegExp(`[${[...new Set(plain(orders + own).match(/[^\0-\x7f]/gu))].join('')}]`, 'u')
const isLatin = ({ verbs }: OverrideWords): boolean => /^[a-z]/.test(plain(verbs))

interface Language {
  /** Words for "previous" and names of the text that a model was given: without one of these there is no order. */
  said: RegExp
  order: RegExp
  lapsed: RegExp
  /** "No longer apply": without these words nothing has lapsed. */
  ends: RegExp
  every: RegExp
  /** Whether an order between two parts of a text is certain. */
  isCertain: (head: string, order: string, tail: string) => boolean
  /** Whether sentences that something no longer applies are doubtful in any form. */
  isOnlyDoubtful: boolean
}
/** In these languages, ordinary sentences have the form of an order: "the browser ignores the previous rules", "delete the old rules". */
function certainty(words: OverrideWords): Language['isCertain'] {
  const { certain, every, own, verbLast } = words
  if (certain === undefined) return () => true
  const whole = (list: string) => new RegExp(`(?<!\\p{L})${anyOf(list)}(?!\\p{L})`, 'u')
  const [all, orders, itself] = [whole(every), whole(certain.orders), whole(own)]
  const lead = new RegExp(`(?:^|[^\\p{L}\\p{N}\\s]\\s*|(?<!\\p{L})${anyOf(certain.leads)}\\s+)$`, 'u')
  const condition = new RegExp(`^[ ,*\`_]{0,4}${anyOf(certain.conditions)}(?!\\p{L})`, 'u')
  return (head, order, tail) => {
    if (DELETES.test(order) && !itself.test(order)) return false
    const named = verbLast ? head.slice(-12) + order : order
    if (!itself.test(order) && !(all.test(named) && orders.test(order))) return false
    return (verbLast || lead.test(head)) && !condition.test(tail)
  }
}
const languageOf = (words: OverrideWords): Language => {
  const { order, lapsed } = patternsOf(words)
  return {
    said: new RegExp(anyOf(`${words.prior}|${words.own}`), 'u'),
    order: new RegExp(order, 'gu'),
    lapsed: new RegExp(lapsed, 'gu'),
    ends: new RegExp(anyOf(words.lapsed), 'u'),
    // "Tes" is no part of "précédentes".
    every: new RegExp(`${isLatin(words) ? '(?<!\\p{L})' : ''}${anyOf(words.every)}`, 'u'),
    isCertain: certainty(words),
    isOnlyDoubtful: words.certain !== undefined,
  }
}

const latin = overrideWords.filter(isLatin)
/** Patterns with the words without which they cannot match. The languages in Latin letters share one pass. */
const GROUPS: readonly { sign: RegExp; languages: readonly Language[]; letters?: RegExp }[] = [
  {
    sign: new RegExp(`\\b(?:${latin.map(({ orders, own }) => anyOf(`${orders}|${own}`)).join('|')})\\b`, 'g'),
    languages: latin.map(languageOf),
  },
  ...overrideWords
    .filter((words) => !isLatin(words))
    .map((words) => ({
      sign: new RegExp(signOf(words), 'gu'),
      languages: [languageOf(words)],
      letters: lettersOf(words),
    })),
]
/** Words for messages, which people delete without any model, in a sentence that ends its paragraph. */
const MESSAGES = /(?<!\p{L})(?:mensajes|mensagens|messages|nachrichten|сообщения)(?!\p{L})/u
const ALONE = /^[ \t]{0,4}[.!]?(?:\s{0,4}$|[ \t]{0,4}\n[ \t]{0,4}\n)/
const isDeletion = (words: string, tail: string): boolean =>
  DELETES.test(words) && MESSAGES.test(words) && !/s[iy]st|сист/.test(words) && ALONE.test(tail)

/**
 * New roles without limits in other languages: a sign without which there is none, how the sentence begins, words for a model, and words for the
 * absence of limits. Ordinary sentences of shops and games have the same form, so they are only marked.
 */
const newRoles = (
  [
    [
      'bist',
      'du bist (?:jetzt|nun|ab jetzt|ab sofort|von nun an)|(?:ab jetzt|ab sofort|von nun an) bist du',
      'assistent|assistentin|ki|modell|bot|chatbot|hacker',
      'uneingeschränkte[rs]?|unbegrenzte[rs]?|unzensierte[rs]?|ohne (?:jede |jegliche )?(?:einschränkungen?|beschränkungen?|regeln|grenzen|filter|zensur)',
    ],
    [
      'maintenant',
      'tu es maintenant|maintenant,? tu es',
      'assistante?|ia|modèle|chatbot|bot|hacker|pirate',
      'sans (?:aucune? )?(?:limites?|restrictions?|règles?|filtres?|censure)|non censurée?|illimitée?',
    ],
    [
      'eres',
      '(?:ahora|a partir de ahora),? (?:tú )?eres|eres ahora',
      'asistente|ia|modelo|chatbot|bot|hacker|pirata',
      'sin (?:ninguna? )?(?:restricciones|límites|reglas|filtros|censura)',
    ],
    [
      'voce',
      'você agora é|agora,? você é|a partir de agora,? você é',
      'assistente|ia|modelo|chatbot|bot|hacker',
      'sem (?:nenhuma? )?(?:restrições|limites|regras|filtros|censura)',
    ],
    [
      'sei',
      '(?:ora|adesso|da ora),? (?:tu )?sei',
      'assistente|ia|modello|chatbot|bot|hacker|pirata',
      'senza (?:alcun[ao]? )?(?:limiti|restrizioni|regole|filtri|censura)',
    ],
    [
      'ты',
      '(?:теперь|отныне|с этого момента),? ты|ты (?:теперь|отныне)',
      'ассистент|помощник|модель|бот|ии|хакер',
      'без (?:всяких |каких-либо )?(?:ограничений|правил|фильтров|цензуры)',
    ],
    ['الان', 'أنت الآن|من الآن أنت', 'مساعد|نموذج|روبوت|هاكر', '(?:بلا|بدون|دون) (?:أي )?(?:قيود|حدود|قواعد)'],
    ['अब', 'अब (?:आप|तुम)|(?:आप|तुम) अब', 'सहायक|मॉडल|बॉट|हैकर', 'बिना (?:किसी )?(?:प्रतिबंध|नियम|सीमा)'],
    [
      '你',
      '你(?:现在|現在)是|(?:从|從)(?:现在|現在)(?:起|开始|開始)，?你是',
      '助手|助理|模型|机器人|機器人|黑客',
      '(?:没有|沒有|不受|无|無)(?:任何)?(?:限制|约束|約束|规则|規則|过滤)',
    ],
    [
      'あなた',
      '(?:今から|これから)あなたは|あなたは(?:今から|これから)',
      'アシスタント|助手|モデル|ボット|ハッカー',
      '(?:制限|制約|規則|ルール)(?:の|が)(?:ない|無い)|無制限の',
    ],
    [
      '너는',
      '(?:이제|지금부터|이제부터) ?너는|너는 ?(?:이제|지금부터)',
      '비서|어시스턴트|모델|봇|해커',
      '(?:제한|제약|규칙)(?:이|도)? ?없는',
    ],
  ] as const
).map(([sign, begins, models, limitless]) => {
  const [begin, model, free] = [begins, models, limitless].map(anyOf)
  const isSpaced = /[a-zа-я]/.test(plain(begins))
  const [before, after] = isSpaced ? ['(?<![\\p{L}\\p{N}_-])', '(?![\\p{L}\\p{N}_-])'] : ['', '']
  const between = '[^.!?。！？\\n]'
  return {
    sign: plain(sign),
    limitless: new RegExp(anyOf(limitless), 'u'),
    form: new RegExp(
      `${before}${begin}${after}${between}{0,24}?${before}(?:${model}${after}${between}{0,4}?${before}${free}|${free}${between}{0,6}?${before}${model})${after}`,
      'gu',
    ),
  }
})

/** Finds "you are now a … without limits" in a copy in languages other than English. */
export const findNewRoles = (copy: string): Range[] =>
  newRoles.flatMap(({ sign, limitless, form }) =>
    copy.includes(sign) && limitless.test(copy)
      ? Array.from(copy.matchAll(form), ({ 0: words, index }) => ({ start: index, end: index + words.length }))
      : [],
  )

/** A sentence about a thing that ignores rules: "Die Firewall ignoriert alle vorherigen Regeln." It begins with the thing. */
const THING_BEFORE =
  /(?:^|[.!?][ \t]{1,3}|\n[ \t]{0,8})(?:die|der|das|dieser|diese|dieses|le|la|el|il|o|a|de|het|este|esta|ce|cet|cette|questo|questa|deze|dit)[ \t](?:firewall|linter|compiler|parser|router|proxy|interpreter|crawler|pare-feu|compilateur|analyseur|routeur|cortafuegos|compilador|analizador|enrutador|compilatore|roteador|scripts?|skript|patch|parche|correctif|correzione|programm|programme|programa|programma|browser|navegador|navigateur|server|servidor|serveur|editor|scanner|plugin|plug-in|modul|module|modulo|bibliothek|bibliotheque|biblioteca|libreria|datei|archivo|arquivo|fichier|plantilla|vorlage|gericht|tribunal|tribunale|gesetz|ley|lei|loi|legge|verordnung|vertrag|contrato|contrat|funktion|funcion|funcao|fonction|funzione|comando|commande|pipeline)[ \t]{1,3}$/
const IGNORES_RULES =
  /^(?:ignoriert|ignore|ignora|negeert|sobrescribe|sobrescreve|sovrascrive|anula|annule|annulla|omite|omet)(?!\p{L})(?![\s\S]*(?:weis|instru|istru|consign|prompt|vorgab|richtlin|befehl|orden|ordre|system|sistem|dein|\btes\b|\btus\b|\bsuas\b|\btuas\b|\btue\b|\bvos\b|\bsus\b))[\s\S]*(?:regeln|regles|reglas|regras|regole|regels|normas|normes|einschrankungen|restricciones|restrictions|restricoes|restrizioni|contraintes)/u
/** Nothing follows in the sentence. */
const SENTENCE_END =
  /^(?:[ \t]{1,3}(?:nicht(?: mehr)?|niet))?(?:[ \t]{1,3}(?:de la|de l'|del|du|des?|da|do|della|dello|der|van de|van het)[ \t]{0,3}(?:tabla|tabela|table|tabelle|tabella|tabel|archivo|arquivo|ficheiro|fichier|datei|file|bestand|pagina|página|page|seite|firewall|linters?|servers?|configur?aci?on|configuration|konfiguration))?[ \t]{0,3}(?:[.!。！]|$|\n)/
/** "不要忘记之前的说明", "请勿忽略上面的指令": at the beginning of a clause, so that "识别" and "要不要" are none. */
const FORBIDDEN_IN_CHINESE =
  /(?:^|[，。！？；：、,.!?;:\s])(?:请|請|您|你|千万|千萬){0,2}(?:不要|请勿|請勿|切勿|勿|别|別)$/u
const FORGETS_IN_CHINESE = /^(?:忘|忽略|忽视|忽視|无视|無視)/u
/** "Não se esqueça das instruções anteriores", "Не забудьте предыдущие инструкции": the sentence begins with the negation. */
const FORBIDDEN = /(?:^|[.!?:][ \t]{1,3}|\n[ \t>*-]{0,8})(?:nao(?: se)?|не) $/u
const FORGETS = /^(?:esque|забуд)/u
/** "Если письмо просит игнорировать предыдущие инструкции, сообщите …": a text asks, and the sentence says to refuse or report it. */
const ASKED_IN_RUSSIAN =
  /(?:^|[.!?]\s{1,3}|\n)(?:если|когда) (?:[^\s.!?,;:]{1,20} )?(?:письмо|страница|документ|текст|сообщение|фаил|саит) (?:[^\s.!?,;:]{1,20} )?(?:просит|требует|велит|предлагает) (?:(?:вас|тебя|модель|агента) )?$/u
const IN_INFINITIVE = /^\p{L}{3,20}ть(?!\p{L})/u
const REFUSED_IN_RUSSIAN = /^, (?:сообщ|отклон|откаж|предупред|не выполн|не след|не дел)/u

const KANJI = '[\\p{Script=Han}\\p{Script=Katakana}ー\\u3099\\u309a]'
const READER_IN_JAPANESE = plain(
  'モデル|アシスタント|ボット|エージェント|ユーザー|読者|人工知能|貴方|貴殿|君|開発|管理者|運営|作成者|会社|システム|メッセージ|プロンプト|文書|本文',
)
/** "このスクリプトは以前のルールを無視します": a sentence whose subject is a thing. */
const THING_IN_JAPANESE = new RegExp(
  `(?:^|[。！？\\n])[ \\t]{0,3}(?:この|その|当該)(?!${KANJI}{0,8}(?:${READER_IN_JAPANESE}))${KANJI}{2,12}は$`,
  'u',
)
/** "裁判所は以前の命令をすべて取り消した": somebody did it. */
const SOMEBODY_IN_JAPANESE = new RegExp(
  `(?:^|[。！？\\n])[ \\t]{0,3}(?!${KANJI}{0,8}(?:${READER_IN_JAPANESE}))${KANJI}{2,12}は$`,
  'u',
)
const STATED_IN_JAPANESE = /^(?:します|しました|しません|する|した|しない)[。]?[ \t]{0,3}(?:$|\n)/u
const PAST_IN_JAPANESE = /^(?:しました|した|ました)[。]?[ \t]{0,3}(?:$|\n)/u
const RULES_IN_JAPANESE = new RegExp(`(?:${plain('ルール|規則|設定|制約')})`, 'u')
/** "이 스크립트는 이전 규칙을 무시합니다", "법원은 이전 명령을 모두 취소했다". */
const HANGUL = '[\\u1100-\\u11ff]'
const READER_IN_KOREAN = plain(
  '모델|비서|어시스턴트|봇|에이전트|사용자|독자|인공지능|당신|부터|까지|앞으로|개발|관리자|운영|회사|시스템|메시지|프롬프트|문서',
)
const SUBJECT_IN_KOREAN = `(?!${HANGUL}{0,24}(?:${READER_IN_KOREAN}))${HANGUL}{4,24}(?:${plain('은|는')}) $`
const THING_IN_KOREAN = new RegExp(`(?:^|[.!?\\n])[ \\t]{0,3}(?:${plain('이|그')}) ${SUBJECT_IN_KOREAN}`, 'u')
const SOMEBODY_IN_KOREAN = new RegExp(`(?:^|[.!?\\n])[ \\t]{0,3}${SUBJECT_IN_KOREAN}`, 'u')
const STATED_IN_KOREAN = new RegExp(`^${plain('(?:합니다|한다|했다|했습니다|하였다)')}[.]?[ \\t]{0,3}(?:$|\\n)`, 'u')
const PAST_IN_KOREAN = new RegExp(`^${plain('(?:했다|했습니다|하였다|하였습니다)')}[.]?[ \\t]{0,3}(?:$|\\n)`, 'u')
const RULES_IN_KOREAN = new RegExp(`(?:${plain('규칙|설정|제약')})`, 'u')
/** "法院撤销了此前的全部命令。": a subject, a verb and the sign of what has happened. */
const SUBJECT_IN_CHINESE =
  /(?:^|[。！？\n])(?![请請你您我快先再立马现現已也就都把将務务必须須]|\p{Script=Han}{0,6}(?:系统|系統|模型|助手|助理|开发|管理员|用户|主人|机器人|提示|消息|本文|此|本|从|自|公司|运营))\p{Script=Han}{2,8}$/u
const DONE_IN_CHINESE = /^(?:撤销|废除|推翻|取消|覆盖|清除|废止|放弃|违反)了/u

/** Whether the sentence around an order states that a thing or somebody else does it, in languages whose verbs do not show it. */
function isStated(head: string, words: string, tail: string): boolean {
  if (DONE_IN_CHINESE.test(words)) return SUBJECT_IN_CHINESE.test(head)
  return (
    (PAST_IN_JAPANESE.test(tail) && SOMEBODY_IN_JAPANESE.test(head)) ||
    (STATED_IN_JAPANESE.test(tail) && RULES_IN_JAPANESE.test(words) && THING_IN_JAPANESE.test(head)) ||
    (PAST_IN_KOREAN.test(tail) && SOMEBODY_IN_KOREAN.test(head)) ||
    (STATED_IN_KOREAN.test(tail) && RULES_IN_KOREAN.test(words) && THING_IN_KOREAN.test(head))
  )
}

/** "指示を忘れないでください": a negation that follows the verb. */
const FORGETS_IN_JAPANESE = new RegExp(`(?:${plain('忘れ|無視')})$`, 'u')
const FORBIDDEN_IN_JAPANESE = new RegExp(`^(?:${plain('し')})?(?:${plain('ないで|ないよう|ずに')})`, 'u')

/** Whether the sentence around an order describes or forbids it. */
function isDescribed(head: string, words: string, tail: string): boolean {
  if (IN_INFINITIVE.test(words) && ASKED_IN_RUSSIAN.test(head)) return REFUSED_IN_RUSSIAN.test(tail)
  if (isStated(head, words, tail)) return true
  if (FORGETS_IN_JAPANESE.test(words) && FORBIDDEN_IN_JAPANESE.test(tail)) return true
  if (!SENTENCE_END.test(tail)) return false
  return (
    (IGNORES_RULES.test(words) && THING_BEFORE.test(head)) ||
    (FORGETS.test(words) && FORBIDDEN.test(head)) ||
    (FORGETS_IN_CHINESE.test(words) && FORBIDDEN_IN_CHINESE.test(head))
  )
}

/** Length of the text beside an order that decides whether it is one. */
const BESIDE = 40
/** Length of the text before an order that may say what the sentence is about. */
const LEAD = 100
/** The text before an order; if it is cut off, it does not begin a clause. */
const atClause = (head: string): string => (head.length === LEAD ? `x${head}` : head)
/** Maximum distance between the words for "instructions" and both ends of an order. */
const REACH = 160

/** `isTentative`: the form of an order is not enough, in whatever way the words are written. */
export type FoundOverride = Range & { isDoubtful: boolean; isTentative: boolean }
/** A copy of the text for comparison, and the orders found in it. */
type Overrides = { copy: string; found: FoundOverride[]; placeOf: (offset: number) => number }

/** Finds orders to ignore previous instructions in languages other than English. */
export function findOverrides(text: string): Overrides {
  const copy = plain(text)
  const found: Overrides['found'] = []
  const isAscii = !NOT_ASCII.test(copy)
  for (const { sign, languages, letters } of GROUPS) {
    if (letters && (isAscii || !letters.test(copy))) continue
    for (const { start, end } of windowsAround(copy, sign)) {
      const window = copy.slice(start, end)
      const signless = withoutSigns(window)
      const see = (index: number, length: number, isDoubtful: boolean, isTentative: boolean) => {
        found.push({ start: start + index, end: start + index + length, isDoubtful, isTentative })
      }
      for (const variant of signless === window ? [window] : [window, signless])
        for (const { said, order, lapsed, ends, every, isCertain, isOnlyDoubtful } of languages) {
          if (!said.test(variant)) continue
          for (const { 0: words, index } of variant.matchAll(order)) {
            const after = index + words.length
            const tail = variant.slice(after, after + BESIDE)
            const isTentative = !isCertain(variant.slice(Math.max(0, index - BESIDE), index), words, tail)
            const isWhole = end >= copy.length || after + BESIDE < variant.length
            const head = variant.slice(Math.max(0, index - LEAD), index)
            const isComplete = isWhole && (start === 0 || index > LEAD)
            const isDoubtful =
              isTentative ||
              (isComplete && isDescribed(atClause(head), words, tail)) ||
              (isWhole && isDeletion(words, tail))
            see(index, words.length, isDoubtful, isTentative)
          }
          if (!ends.test(variant)) continue
          for (const { 0: words, index } of variant.matchAll(lapsed))
            see(index, words.length, isOnlyDoubtful || !every.test(words), isOnlyDoubtful)
        }
    }
  }
  let offsets: Offsets | undefined
  const placeOf = (offset: number): number => {
    offsets ??= offsetsOf(text)
    return offsets.back(offset)
  }
  return { copy, found, placeOf }
}

function windowsAround(copy: string, sign: RegExp): Range[] {
  const windows: Range[] = []
  for (const { index } of copy.matchAll(sign)) {
    const last = windows.at(-1)
    if (last && index - REACH <= last.end) last.end = index + REACH
    else windows.push({ start: Math.max(0, index - REACH), end: index + REACH })
  }
  return windows
}
