/**
 * Words of commands to ignore previous instructions, in languages other than English. Each field is a list of alternatives: verbs, words
 * for "previous", words for "instructions", and words allowed in between.
 */
interface Language {
  verbs: string
  prior: string
  orders: string
  fill: string
  /** The object precedes the verb. */
  verbLast?: true
  /** Words are not separated by spaces. */
  joined?: true
}
const languages: readonly Language[] = [
  {
    verbs:
      'ignora|ignore|ignorad|ignoren|ignorar|olvida|olvide|olvidad|olvidar|desestima|descarta|omite|haz caso omiso de|no sigas',
    prior:
      'anteriores|anterior|previas|previos|precedentes|de arriba|antes|recibidas|que te dieron|que recibiste|que te han dado',
    orders: 'instrucciones|indicaciones|órdenes|reglas|directrices|directivas|prompts?|mensajes',
    fill: 'todas|todos|cualquier|cualesquiera|las|los|tus|sus|mis|estas|esas|y|o|del|de|sistema|siguientes|por favor|ya|que|has|hayas|recibido',
  },
  {
    verbs:
      'ignore|ignorez|ignorer|oublie|oubliez|oublier|néglige|négligez|ne tiens pas compte|ne tenez pas compte|fais abstraction|faites abstraction|ne suis pas|ne suivez pas',
    prior:
      'précédentes?|précédents?|antérieures?|antérieurs?|ci-dessus|préalables|passées|reçues|données|avant|auparavant',
    orders: 'instructions?|consignes?|directives?|règles?|ordres?|indications?|prompts?|messages?',
    fill: 'toutes|tous|tout|les|des|de|tes|vos|mes|ces|et|ou|du|système|suivantes|aux?|que|tu|as|vous|avez|qui|t’ont|été|s’il vous plaît',
  },
  {
    verbs:
      'ignoriere|ignorier|ignorieren sie|ignoriert|vergiss|vergesse|vergessen sie|vergesst|missachte|missachten sie|übergehe|verwirf|befolge nicht',
    prior:
      'vorherigen?|bisherigen?|vorigen?|früheren?|obigen?|vorangegangenen?|vorhergehenden?|vorangehenden?|zuvor|vorher|bisher|oben|davor',
    orders:
      'anweisungen|anweisung|instruktionen|befehle|regeln|vorgaben|anordnungen|prompts?|aufforderungen|richtlinien',
    fill: 'alle|allen|alles|sämtliche|jegliche|die|der|deine|ihre|meine|diese|und|oder|nachfolgenden|folgenden|bitte|du|sie|erhalten|hast|haben|bekommen',
  },
  {
    verbs:
      'ignore|ignora|ignorem|ignorar|esqueça|esquece|esqueçam|esquecer|desconsidere|desconsidera|despreze|não siga',
    prior: 'anteriores|anterior|prévias|prévios|acima|precedentes|antes|recebidas|dadas',
    orders: 'instruções|orientações|ordens|regras|diretrizes|comandos|prompts?|mensagens',
    fill: 'todas|todos|quaisquer|qualquer|as|os|suas|seus|tuas|minhas|essas|estas|e|ou|do|de|sistema|seguintes|por favor|que|você|recebeu|foram',
  },
  {
    verbs:
      'игнорируй|игнорируйте|проигнорируй|проигнорируйте|забудь|забудьте|отбрось|отбросьте|отмени|пренебреги|не обращай внимания на|не следуй',
    prior:
      'предыдущие|предыдущих|предыдущим|прежние|прошлые|ранние|вышеуказанные|вышеперечисленные|выше|ранее|данные ранее|полученные ранее|до этого',
    orders: 'инструкции|инструкциям|указания|команды|правила|приказы|директивы|промпты|подсказки|распоряжения',
    fill: 'все|всё|всех|любые|твои|ваши|мои|эти|и|или|последующие|системные|которые|ты|вы|получил|получили|были|даны|данные|пожалуйста',
  },
  {
    verbs: 'تجاهل|تجاهلي|تجاهلوا|انس|انسى|إنس|أهمل|لا تتبع|تخطى',
    prior: 'السابقة|السابق|أعلاه|الماضية|المذكورة|المتقدمة|التي سبقت|من قبل|قبل ذلك',
    orders: 'التعليمات|الأوامر|التوجيهات|الإرشادات|القواعد|تعليمات|تعليماتك|أوامر|توجيهات',
    fill: 'جميع|كل|كافة|أي|هذه|تلك|و|أو|التي|تلقيتها|تلقيت|اللاحقة|من فضلك',
  },
  {
    verbs: 'अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|इग्नोर|उपेक्षा|अनदेखी',
    prior: 'पिछले|पिछली|पहले|पूर्व|उपरोक्त|ऊपर',
    orders: 'निर्देशों|निर्देश|आदेशों|आदेश|नियमों|हिदायतों|अनुदेशों',
    fill: 'सभी|के|की|को|दिए|गए|में|से|सब|सारे|अपने|मेरे|इन|उन|और|पूरी|तरह',
    verbLast: true,
  },
  {
    verbs:
      '忽略|无视|忽视|忘记|忘掉|忘了|不要理会|不要遵守|不要遵循|别管|抛开|抛弃|丢弃|覆盖|绕过|忽視|無視|忘記|請忽略|请忽略',
    prior: '之前|以前|先前|上述|上面|以上|前面|此前|前述|之前的|早先|刚才|剛才',
    orders: '指令|指示|命令|提示词|提示詞|提示|规则|規則|要求|设定|設定|指引|约束|对话|上下文|说明',
    fill: '所有|全部|一切|任何|的|你|您|我|我们|收到|给出|给|到|过|那些|这些|系统|系統|及|和|与|其他|你的|關於|关于|所|说',
    joined: true,
  },
  {
    verbs: '無視|忘れ|忘却|破棄|従わない|従うな|上書き|取り消',
    prior: '以前|これまで|今まで|上記|先ほど|前述|直前|前|既存|過去|上',
    orders: '指示|命令|指令|プロンプト|ルール|規則|設定|インストラクション',
    fill: 'の|すべて|全て|全部|あらゆる|に|与え|られ|た|受け|を|は|も|、|内容|システム|で|完全|と|および|や|だ|さい',
    verbLast: true,
    joined: true,
  },
  {
    verbs: '무시|잊어|잊고|따르지|버려|덮어|취소',
    prior: '이전|앞선|앞의|위의|지금까지|기존|상기|앞서|이전의|과거',
    orders: '지시|명령|지침|프롬프트|규칙|설정|안내',
    fill: '모든|의|에|를|을|은|는|사항|들|받은|내린|전부|모두|다|내용|시스템|주어진|및|와|과|완전히|하고',
    verbLast: true,
    joined: true,
  },
]

const GAP = '[\\s*`"\'>,:]{1,8}'
const within = '[\\s*`"\'「」『』“”]{0,3}'

const ACCENTS = /[\u0300-\u036f\p{Cf}]/gu
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

function patternOf({ verbs, prior, orders, fill, verbLast, joined }: Language): string {
  const [verb, before, order, other] = [verbs, prior, orders, fill].map((words) => `(?:${plain(words)})`)
  const gap = joined ? within : GAP
  const some = (most: number) => `(?:${other}${gap}){0,${most}}`
  const told = `(?:${before}${gap}${some(5)}${order}|${order}${gap}${some(6)}${before})`
  const inWord = joined ? '' : '(?<![\\p{L}\\p{N}_-])'
  const endWord = joined ? '' : '(?![\\p{L}\\p{N}_-])'
  return verbLast ? `${inWord}${told}${gap}${some(6)}${verb}` : `${inWord}${verb}${gap}${some(6)}${told}${endWord}`
}

const OVERRIDES = languages.map((language) => ({
  pattern: new RegExp(patternOf(language), 'u'),
  /** Quick check: without one of these the pattern cannot match. */
  sign: new RegExp(`(?:${plain(language.orders)})`, 'u'),
  verb: new RegExp(`(?:${plain(language.verbs)})`, 'u'),
  isLatin: /^[a-z]/.test(plain(language.verbs)),
}))

/** Beginnings of all verbs in Latin letters: one check instead of one per language. */
const LATIN_VERB =
  /ignor|olvid|desestim|descart|omit|haz caso|no sig|oubli|neglig|ne tien|ne ten|abstraction|ne sui|vergiss|vergess|missacht|ubergeh|verwirf|befolg|esque|desconsider|desprez|nao sig/
const OTHERS = OVERRIDES.filter(({ isLatin }) => !isLatin)

/** Offset of a command to ignore previous instructions in a language other than English; -1 if there is none. */
export function findOverride(text: string): number {
  const copy = plain(text)
  const isLatin = LATIN_VERB.test(copy)
  if (!isLatin && !NOT_ASCII.test(copy)) return -1
  for (const { pattern, sign, verb } of isLatin ? OVERRIDES : OTHERS) {
    if (!verb.test(copy) || !sign.test(copy)) continue
    const offset = copy.search(pattern)
    if (offset >= 0) return placeOf(text, offset)
  }
  return -1
}
