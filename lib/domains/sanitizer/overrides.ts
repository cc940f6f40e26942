import { withoutSigns } from './disguises.ts'
import type { Range } from './markdown-lines.ts'

const GAP = '[\\s*`"\'>,:]{1,8}'
const within = '[\\s*`"\'「」『』“”，,]{0,3}'

/** Accents, invisible characters, Arabic vowel signs and the tatweel. */
const ACCENTS = /[\u0300-\u036f\u064b-\u065f\u0670\u0640\p{Cf}]/gu
const NOT_ASCII = /[^\0-\x7f]/
/** Lower case without accents, invisible characters and full-width forms: people omit accents. */
const plain = (text: string): string =>
  NOT_ASCII.test(text) ? text.toLowerCase().normalize('NFKD').replace(ACCENTS, '') : text.toLowerCase()
function placeOf(text: string, offset: number): number {
  if (!NOT_ASCII.test(text)) return offset
  let position = 0
  let copied = 0
  for (const character of text) {
    copied += plain(character).length
    if (copied > offset) return position
    position += character.length
  }
  return position
}

/** Alternatives as a pattern: white space within a phrase may be of any form. */
const anyOf = (words: string): string => `(?:${plain(words).replaceAll(' ', '\\s{1,8}')})`

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
  /** The object always precedes the verb. */
  verbLast?: true
  /** Words are not separated by spaces. */
  joined?: true
}

const spanish: OverrideWords = {
  verbs:
    'ignora|ignore|ignorad|ignoren|ignorar|ignores|olvida|olvide|olvidad|olviden|olvidar|olvídate de|olvídese de|desestima|desestime|descarta|descarte|omite|omita|anula|anule|sobrescribe|sobrescriba|sáltate|incumple|desobedece|desoye|elimina|pasa por alto|pase por alto|prescinde de|prescinda de|haz caso omiso (?:de|a)|haga caso omiso (?:de|a)|hacer caso omiso (?:de|a)|no hagas caso (?:de|a)|no haga caso (?:de|a)|no sigas|no siga|no tengas en cuenta|no tenga en cuenta|no obedezcas|deja de seguir|deje de seguir|deja de lado|deje de lado|invalida|invalide|borra de tu memoria|borra',
  prior:
    'anteriores|anterior|previas|previos|previo|precedentes|de arriba|arriba|antes|hasta ahora|hasta aquí|iniciales|recibidas|recibidos|dadas|dichas|que te dieron|que recibiste|que te han dado|que te dije|que te dijeron',
  orders:
    'instrucciones|instrucción|indicaciones|órdenes|reglas|normas|directrices|directivas|pautas|prompts?|mensajes|restricciones|todo lo|todo|lo|al contexto|contexto|cuanto|comandos',
  fill: 'todas|todos|todo|toda|cualquier|cualesquiera|las|los|la|el|tus|sus|mis|estas|esas|y|o|del|de|a|que|sistema|siguientes|por favor|ya|has|hayas|recibido|completamente|por completo|inmediatamente|se|te|han|dado|dicho|dijeron|dije|dieron',
  split: {
    verbs: 'deja|deje|dejad|pon|ponga',
    parts: 'de lado|a un lado|sin efecto|al margen',
  },
}
const french: OverrideWords = {
  verbs:
    'ignore|ignorez|ignorer|oublie|oubliez|oublier|néglige|négligez|négliger|annule|annulez|outrepasse|outrepassez|contourne|contournez|enfreins|désobéis à|désobéis aux|écarte|écartez|abandonne|abandonnez|efface|effacez|supprime|supprimez|passe outre|passez outre|fais fi de|faites fi de|faire fi de|fais fi des|faites fi des|ne tiens pas compte|ne tenez pas compte|ne tiens plus compte|ne tenez plus compte|ne tenir aucun compte|ne tiens aucun compte|ne tenez aucun compte|fais abstraction|faites abstraction|ne suis pas|ne suivez pas|ne suis plus|ne suivez plus|ne respecte pas|ne respectez pas|ne respecte plus|ne respectez plus|cesse de suivre|cessez de suivre|arrête de suivre|arrêtez de suivre|laisse tomber|laissez tomber|laisse de côté|laissez de côté|mets de côté|mettez de côté',
  prior:
    'précédentes?|précédents?|antérieures?|antérieurs?|ci-dessus|plus haut|préalables|passées|passés|reçues|reçus|données|donnés|avant|auparavant|initiales|jusqu.ici|jusqu.à présent|précède|dit',
  orders:
    'instructions?|consignes?|directives?|règles?|ordres?|indications?|prompts?|messages?|recommandations|restrictions|contraintes|contexte|commandes|tout ce|ce qui|ce que|ce qu|tout',
  fill: 'toutes|tous|tout|les|le|la|des|de|du|tes|vos|mes|ces|et|ou|d|l|système|suivantes|aux?|que|qu|tu|as|vous|avez|qui|t.ont|été|t.a|on|a|s.il vous plaît|s.il te plaît|complètement|totalement|immédiatement|ont|précède|je|j.ai',
  split: { verbs: 'mets|mettez|laisse|laissez', parts: 'de côté' },
}
const german: OverrideWords = {
  verbs:
    'ignoriere|ignorier|ignorieren sie|ignoriert|ignorieren|vergiss|vergesse|vergessen sie|vergesst|vergessen|missachte|missachten sie|missachtet|mißachte|übergehe|übergehen sie|verwirf|verwerfen sie|verwerft|überschreibe|überschreiben sie|überschreib|umgehe|umgehen sie|streiche|streichen sie|lösche|löschen sie|widerrufe|widersetze dich|breche|befolge nicht|befolge keine|befolge nicht mehr|beachte nicht|beachte keine|beachte nicht mehr|folge nicht|folge nicht mehr|halte dich nicht an|halte dich nicht mehr an|sieh ab von|sehen sie ab von|pfeif auf',
  prior:
    'vorherigen?|vorherige[rn]|bisherigen?|vorigen?|früheren?|obigen?|obenstehenden?|vorangegangenen?|vorhergehenden?|vorangehenden?|vorausgehenden?|vorausgegangenen?|vorangestellten|ursprünglichen?|letzten|alten|zuvor|vorher|bisher|bislang|oben|davor|gesagte|gesagt|gegebenen',
  orders:
    'anweisungen|anweisung|instruktionen|instruktion|befehle|befehl|regeln|vorgaben|anordnungen|prompts?|aufforderungen|richtlinien|hinweise|vorschriften|einschränkungen|aufträge|weisungen|kontext|nachrichten|leitlinien|bestimmungen|alles',
  fill: 'alle|allen|aller|alles|sämtliche|sämtlichen|jegliche|die|der|den|das|was|deine|deinen|ihre|ihren|meine|diese|dir|ich|wurde|und|oder|nachfolgenden|folgenden|bitte|du|sie|sofort|einfach|jetzt|ab|komplett|vollständig|erhalten|hast|haben|habe|bekommen|gegeben|gesagt|stehenden|system|dich|mal',
  verbsLast:
    'ignorieren|ignoriere|vergessen|missachten|verwerfen|überschreiben|umgehen|übergehen|streichen|nicht befolgen|nicht beachten|nicht mehr befolgen|nicht mehr beachten|außer acht lassen|außer kraft setzen|nicht zu befolgen|zu ignorieren|zu vergessen|zu missachten|zu verwerfen',
  split: {
    verbs:
      'befolge|befolgen sie|befolgt|beachte|beachten sie|folge|folgen sie|lass|lasse|lassen sie|setze|setz|setzen sie|hebe|heb|schiebe|wirf|leg|lege|legen sie|berücksichtige|berücksichtigen sie|befolg',
    parts: 'nicht|nicht mehr|nicht länger|außer acht|außer kraft|außen vor|auf|beiseite|weg|ab|links liegen|über bord',
  },
}
const portuguese: OverrideWords = {
  verbs:
    'ignore|ignora|ignorem|ignorar|esqueça|esquece|esqueçam|esquecer|esqueça-se de|desconsidere|desconsidera|desconsiderem|desconsiderar|despreze|despreza|descarte|descarta|anule|anula|substitua|sobrescreva|desobedeça|desobedece|abandone|contorne|apague|elimine|revogue|viole|burle|não siga|não sigas|não obedeça|não cumpra|não leve em conta|não leve em consideração|não considere|não respeite|pare de seguir|deixe de seguir|deixa de seguir|deixe de lado|deixa de lado|faça pouco caso de|passe por cima de|não dê atenção (?:a|as)|não ligue para|omita',
  prior:
    'anteriores|anterior|prévias|prévios|prévio|acima|precedentes|antes|até agora|até aqui|iniciais|recebidas|recebidos|dadas|dados|passadas|anteriormente',
  orders:
    'instruções|instrução|orientações|ordens|regras|normas|diretrizes|diretivas|comandos|prompts?|mensagens|restrições|indicações|contexto|tudo o|tudo|o que|aquilo',
  fill: 'todas|todos|toda|todo|quaisquer|qualquer|as|os|a|o|suas|seus|tuas|minhas|essas|estas|e|ou|do|da|de|das|dos|sistema|seguintes|por favor|que|você|recebeu|foram|foi|já|te|lhe|completamente|totalmente|imediatamente|dito|disse|disseram|veio|está|escrito',
  split: { verbs: 'deixe|deixa|ponha|põe|coloque', parts: 'de lado|de parte|sem efeito' },
}
const russian: OverrideWords = {
  verbs:
    'игнорируй|игнорируйте|игнорировать|проигнорируй|проигнорируйте|проигнорировать|забудь|забудьте|забыть|забудь про|забудь обо|забудь о|забудьте про|забудьте обо|забудьте о|отбрось|отбросьте|отбросить|отмени|отмените|отменить|пренебреги|пренебрегите|пренебречь|аннулируй|аннулируйте|сбрось|сбросьте|нарушь|нарушьте|обойди|обойдите|переопредели|переопределите|перезапиши|отвергни|отвергните|откажись от|откажитесь от|удали|сотри|не обращай внимания на|не обращайте внимания на|не следуй|не следуйте|не учитывай|не учитывайте|не выполняй|не выполняйте|не соблюдай|не соблюдайте|не слушай|не слушайте|перестань следовать|перестаньте следовать|прекрати следовать|прекратите следовать|перестань выполнять|оставь без внимания|оставьте без внимания|не придерживайся|не принимай во внимание|выкинь из головы',
  prior:
    'предыдущие|предыдущих|предыдущим|предыдущими|прежними|прошлыми|предыдущее|предыдущую|прежние|прежних|прежним|прошлые|прошлых|прошлым|ранние|прежде|предшествующие|предшествующих|предшествующим|вышеуказанные|вышеперечисленные|вышеизложенные|вышеописанные|вышестоящие|первоначальные|исходные|старые|выше|ранее|раньше|до этого|до этого момента|до сих пор|данные ранее|полученные ранее|вышесказанное|было сказано',
  orders:
    'инструкции|инструкций|инструкциям|инструкциями|инструкцию|указания|указаний|указаниям|указаниями|команды|команд|командам|правила|правил|правилам|правилами|приказы|приказов|директивы|директив|промпты|промпт|подсказки|распоряжения|распоряжений|установки|установок|ограничения|ограничений|требования|требований|настройки|контекст|сообщения|все что|всё|все|всем',
  fill: 'все|всё|всех|всем|всеми|любые|любых|свои|своих|своим|твои|ваши|мои|эти|этих|и|или|что|тебе|вам|я|мной|последующие|системные|системных|которые|которым|ты|вы|получил|получили|были|был|было|даны|данные|дали|дал|сказано|говорил|говорили|сказали|пожалуйста|полностью|немедленно|просто|написано|указанные|следуй',
}
const arabic: OverrideWords = {
  verbs:
    'تجاهل|تجاهلي|تجاهلوا|تجاهلن|بتجاهل|أن تتجاهل|تتجاهل|انس|انسى|انسوا|إنس|تنسى|نسيان|أهمل|أهملي|أهملوا|إهمال|لا تتبع|لا تتبعي|لا تلتزم ب|لا تلتزم|لا تنفذ|لا تطبق|لا تأخذ بعين الاعتبار|توقف عن اتباع|توقف عن تنفيذ|تخطى|تخط|تخل عن|تغاضى عن|تغاض عن|اصرف النظر عن|صرف النظر عن|غض النظر عن|غض الطرف عن|تجاوز|ألغ|الغ|ألغي|إلغاء|اترك|دع عنك|احذف|امسح|خالف|اطرح|استبدل|اضرب عرض الحائط ب|لا تهتم ب|لا تبال ب',
  prior:
    'السابقة|السابق|سابقة|السالفة|السالفة الذكر|أعلاه|الماضية|المذكورة|المتقدمة|القديمة|الأولية|الأصلية|المعطاة|الواردة|سابقا|مسبقا|حتى الآن|التي سبقت|سبق|من قبل|قبل ذلك|قبل هذا|قبل',
  orders:
    'التعليمات|للتعليمات|بالتعليمات|الأوامر|للأوامر|بالأوامر|التوجيهات|بالتوجيهات|الإرشادات|القواعد|بالقواعد|القيود|الضوابط|التوصيات|الرسائل|السياق|تعليمات|تعليماتك|أوامر|توجيهات|إرشادات|قواعد|كل ما|كل شيء|ما|المطالبات',
  fill: 'جميع|كل|كافة|أي|هذه|تلك|و|أو|التي|الذي|تلقيتها|تلقيت|أعطيت|أعطيتك|أعطيت لك|لك|إياها|اللاحقة|من|من فضلك|رجاء|تماما|فورا|قيل|ذكر|قلته|قلت|تم|ورد|كان|النظام|إليك|عن|ب',
}
const hindi: OverrideWords = {
  verbs: 'अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|इग्नोर|उपेक्षा|अनदेखी|रद्द|मत मानो|मत मानिए|पालन मत|पालन न|छोड़|दरकिनार|ओवरराइड|हटा',
  prior: 'पिछले|पिछली|पहले|पूर्व|उपरोक्त|ऊपर|पुराने|अब तक',
  orders: 'निर्देशों|निर्देश|आदेशों|आदेश|नियमों|नियम|हिदायतों|अनुदेशों|बातों|बातें|प्रॉम्प्ट|संदेशों',
  fill: 'सभी|के|की|को|का|दिए|दी|गए|गई|में|से|सब|सारे|सारी|अपने|मेरे|इन|उन|और|पूरी|तरह|कृपया|जो|कुछ|हुए',
  verbLast: true,
}
const chinese: OverrideWords = {
  verbs:
    '忽略|略过|无视|忽视|忘记|忘掉|忘了|忘却|遗忘|不要理会|不必理会|不用理会|不理会|不要遵守|不要遵循|不再遵守|不再遵循|不要执行|不要听从|停止遵循|停止遵守|停止执行|别管|不要管|不用管|不管|别理|别听|不要听|抛开|抛弃|拋棄|抛诸脑后|丢弃|丢掉|扔掉|摒弃|舍弃|放弃|撇开|推翻|撤销|作废|废除|违反|违背|绕过|绕开|覆盖|覆蓋|清除|抹去|抹掉|重置|不顾|忽視|無視|忘記|請忽略|请忽略',
  prior:
    '之前|以前|先前|上述|上面|以上|前面|前边|前文|上文|此前|前述|之前的|早先|早前|原先|原来|原有|最初|初始|既有|刚才|剛才|迄今|到目前为止|目前为止',
  orders:
    '指令|指示|命令|提示词|提示詞|提示|规则|規則|规定|規定|准则|要求|设定|設定|指引|指导|约束|限制|对话|上下文|说明|訊息|消息|内容|的话|一切|指南|吩咐',
  fill: '所有|全部|一切|任何|的|你|您|我|我们|收到|给出|给|到|过|那些|这些|系统|系統|及|和|与|其他|你的|關於|关于|所|说|都|掉|请|立即|完全|彻底|现在|告诉|告知|下达|下达的|对|被|了|吧|給|任務|提供|输入|有|过的|说过',
  verbsLast:
    '忽略|忘掉|忘记|忘記|忘了|无视|無視|抛开|抛弃|抛到脑后|抛诸脑后|丢掉|丢弃|扔掉|作废|作廢|清除|抹去|当作不存在|视为无效|推翻|覆盖|放到一边|放在一边|撇开|不用管|不要管|不必遵守|不要遵守|不再有效|无效|失效',
  joined: true,
}
const japanese: OverrideWords = {
  verbs:
    '無視|忘れ|忘却|破棄|従わ|従うな|上書き|取り消|捨て|無効|リセット|考慮しない|気にしない|守らない|守るな|放棄|スルー|置き換え|撤回|消去|度外視|白紙|なかったこと',
  prior: '以前|これまで|今まで|いままで|ここまで|上記|先ほど|先程|さっき|前述|直前|既存|過去|最初|元|事前|前|上',
  orders:
    '指示|命令|指令|プロンプト|ルール|規則|設定|インストラクション|ガイドライン|制約|指図|言われたこと|言ったこと|注意事項|内容|文脈|メッセージ|会話',
  fill: 'の|すべて|全て|全部|あらゆる|一切|に|与え|られ|た|受け|を|は|も|、|内容|システム|で|完全|と|および|や|だ|さい|今|すぐ|もう|どうか|いったん|一旦|出さ|れ|し|て|い|る|き|ている|こと|事項|までの|には|から|なさ',
  verbLast: true,
  joined: true,
}
const korean: OverrideWords = {
  verbs:
    '무시|잊어|잊으|잊고|잊도록|따르지|따를 필요|버려|버리|덮어|취소|무효|폐기|신경 쓰지|신경쓰지|지워|지우|배제|제외|어겨|어기|거부|삭제|초기화|고려하지|준수하지|지키지|거스르|벗어나|철회',
  prior: '이전|앞선|앞의|앞에|위의|위에|지금까지|여태까지|기존|상기|앞서|이전의|이전에|과거|먼저|전에|원래|최초|초기',
  orders: '지시|명령|지침|프롬프트|규칙|설정|안내|지령|가이드라인|내용|제약|메시지|대화|말|요청',
  fill: '모든|모두|의|에|를|을|은|는|사항|들|받은|받았던|내린|내려진|전부|전체|다|내용|시스템|주어진|주어졌던|제공된|및|와|과|완전히|완전|하고|이제|부디|제발|그냥|싹|더|이상|절대|했던|한|말한|들은|알려준|제시된|있는|있던|에서|따위|따윈|이|가|도|까지|있|했|던',
  verbLast: true,
  joined: true,
}

const overrideWords: readonly OverrideWords[] = [
  spanish,
  french,
  german,
  portuguese,
  russian,
  arabic,
  hindi,
  chinese,
  japanese,
  korean,
]

function patternOf({ verbs, prior, orders, fill, verbsLast, split, verbLast, joined }: OverrideWords): string {
  const [verb, before, order, other] = [anyOf(verbs), anyOf(prior), anyOf(orders), anyOf(fill)]
  const gap = joined ? within : GAP
  const some = (most: number) => `(?:${other}${gap}){0,${most}}`
  const told = `(?:${before}${gap}${some(5)}${order}|${order}${gap}${some(6)}${before})`
  const inWord = joined ? '' : '(?<![\\p{L}\\p{N}_-])'
  const endWord = joined ? '' : '(?![\\p{L}\\p{N}_-])'
  if (verbLast) return `${inWord}${told}${gap}${some(6)}${verb}`
  const patterns = [`${inWord}${verb}${gap}${some(6)}${told}${endWord}`]
  if (verbsLast) patterns.push(`${inWord}${told}${gap}${some(6)}${anyOf(verbsLast)}${endWord}`)
  if (split) {
    const first = anyOf(split.verbs)
    patterns.push(`${inWord}${first}${gap}${some(6)}${told}${gap}${some(2)}${anyOf(split.parts)}${endWord}`)
  }
  return patterns.join('|')
}

/** Words for "instructions": without one of these the pattern cannot match. */
const signOf = ({ orders, joined }: OverrideWords): string =>
  joined ? anyOf(orders) : `(?<![\\p{L}\\p{N}_])${anyOf(orders)}(?![\\p{L}\\p{N}_])`
const isLatin = ({ verbs }: OverrideWords): boolean => /^[a-z]/.test(plain(verbs))

const latin = overrideWords.filter(isLatin)
/** Patterns with the words without which they cannot match. The languages in Latin letters share one pass. */
const GROUPS: readonly { sign: RegExp; patterns: readonly RegExp[]; isLatin: boolean }[] = [
  {
    sign: new RegExp(`\\b(?:${latin.map(({ orders }) => anyOf(orders)).join('|')})\\b`, 'g'),
    patterns: latin.map((words) => new RegExp(patternOf(words), 'gu')),
    isLatin: true,
  },
  ...overrideWords
    .filter((words) => !isLatin(words))
    .map((words) => ({
      sign: new RegExp(signOf(words), 'gu'),
      patterns: [new RegExp(patternOf(words), 'gu')],
      isLatin: false,
    })),
]
/** Maximum distance between the words for "instructions" and both ends of an order. */
const REACH = 160

/** A copy of the text for comparison, and the orders found in it. */
type Overrides = { copy: string; found: { start: number; end: number }[]; placeOf: (offset: number) => number }

/** Finds orders to ignore previous instructions in languages other than English. */
export function findOverrides(text: string): Overrides {
  const copy = plain(text)
  const found: Overrides['found'] = []
  const isAscii = !NOT_ASCII.test(copy)
  for (const { sign, patterns, isLatin } of GROUPS) {
    if (isAscii && !isLatin) break
    for (const { start, end } of windowsAround(copy, sign)) {
      const window = copy.slice(start, end)
      const signless = withoutSigns(window)
      for (const variant of signless === window ? [window] : [window, signless])
        for (const pattern of patterns)
          for (const { 0: order, index } of variant.matchAll(pattern))
            found.push({ start: start + index, end: start + index + order.length })
    }
  }
  return { copy, found, placeOf: (offset) => placeOf(text, offset) }
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
