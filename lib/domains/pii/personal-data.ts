import { findPhoneNumbersInText } from 'libphonenumber-js'
import { isCardNumber, isChineseId, isIban } from './check-digits.ts'

export const personalKinds = [
  'email',
  'phone',
  'address',
  'titled_person',
  'role',
  'iban',
  'card',
  'national_id',
] as const
export type PersonalKind = (typeof personalKinds)[number]
/** Where it stands: UTF-16 offsets, the end exclusive. */
export interface Finding {
  kind: PersonalKind
  start: number
  end: number
}

const capital = String.raw`\p{Lu}[\p{L}'’-]{0,40}`
const chineseSurnames =
  '王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高梁郑谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤'
/** Every repetition is bounded, so that a long text costs no more than its length. */
const patterns: readonly { kind: PersonalKind; pattern: RegExp; isOne?: (text: string) => boolean }[] = [
  { kind: 'email', pattern: /[\p{L}\p{N}._%+-]{1,64}@(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu },
  {
    kind: 'iban',
    pattern: /(?<![A-Z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Z0-9])/g,
    isOne: isIban,
  },
  { kind: 'national_id', pattern: /(?<!\d)[1-9]\d{16}[\dXx](?![\dXx])/g, isOne: isChineseId },
  { kind: 'national_id', pattern: /(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])/g },
  { kind: 'card', pattern: /(?<!\d)[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{3,4}(?!\d)/g, isOne: isCardNumber },
  // Mainland mobile numbers: eleven digits, the first three an operator's.
  { kind: 'phone', pattern: /(?<!\d)(?:\+?86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)/g },
  {
    kind: 'address',
    pattern: new RegExp(
      String.raw`(?<!\p{N})\d{1,5}[A-Za-z]?,? (?:${capital} ){1,4}(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Place|Terrace|Way)(?!\p{L})`,
      'gu',
    ),
  },
  {
    kind: 'address',
    pattern: /(?<!\p{L})\p{Lu}[\p{L}-]{1,40}(?:straße|strasse|str\.|weg|platz|allee|gasse) \d{1,4}[a-z]?(?!\p{L})/gu,
  },
  { kind: 'address', pattern: /[\u4e00-\u9fff]{1,12}(?:路|街|道|巷|弄)\d{1,5}(?:号|弄)/g },
  {
    kind: 'titled_person',
    pattern: new RegExp(
      String.raw`(?<!\p{L})(?:(?:Mr|Mrs|Ms|Mx|Dr|Prof)\.? ?|(?:Miss|Sir|Dame|Herr|Frau|Madame|Monsieur|Professor|Doctor) )${capital}`,
      'gu',
    ),
    isOne: (text) => /[. ]/.test(text),
  },
  {
    kind: 'titled_person',
    pattern: new RegExp(
      `[${chineseSurnames}][\\u4e00-\\u9fff]{0,2}(?:先生|女士|小姐|博士|教授|律师|医生|经理|总监)`,
      'g',
    ),
  },
  {
    kind: 'role',
    pattern:
      /(?<!\p{L})(?:C[EFTOIMRP]O|CHRO|Chief \p{Lu}\p{L}{2,20} Officer|(?:Senior |Executive )?Vice President|S?E?VP|President|Chair(?:man|woman|person)?|Managing Director|Director|General Counsel|(?:Co-)?[Ff]ounder|Treasurer|Head of \p{Lu}\p{L}{1,30})(?: of| at| for|,) (?:the )?\p{Lu}/gu,
  },
  {
    kind: 'role',
    pattern: /(?<!\p{L})\p{Lu}[\p{L}&.-]{1,40}['’]s (?:C[EFTOIMRP]O|CHRO|Chief \p{Lu}\p{L}{2,20} Officer)(?!\p{L})/gu,
  },
  {
    kind: 'role',
    pattern:
      /[\u4e00-\u9fff]{2,12}(?:公司|集团|银行)的?(?:首席(?:执行|财务|技术|运营)官|董事长|总裁|总经理|副总裁|财务总监|创始人)/g,
  },
]
/** Numbers as people write them: a bare run of digits may be an amount, a date or an id, and a sign or a gap makes it a number to call. */
const callable = /^\+|[\s().-]/
const dated = /^\d{4}[-./]\d{1,2}[-./]\d{1,2}|^\d{1,2}[-./]\d{1,2}[-./]\d{2,4}$/
const manyDigits = /\d(?:[\s().-]{0,3}\d){6}/

function phones(text: string): Finding[] {
  if (!manyDigits.test(text)) return []
  return findPhoneNumbersInText(text, 'US').flatMap(({ startsAt, endsAt }) => {
    const found = text.slice(startsAt, endsAt)
    const before = text[startsAt - 1] ?? ''
    return callable.test(before === '+' ? '+' : found) && !dated.test(found)
      ? [{ kind: 'phone' as const, start: startsAt, end: endsAt }]
      : []
  })
}

/**
 * Personal data in a text: e-mail addresses, telephone numbers (any country's with its code; without one those of the USA and mainland
 * mobiles), postal addresses, people by title, offices with their company, IBANs, card and identity numbers whose check digits are right.
 * English and Chinese, some German. Where it stands, never what; in the order of its beginnings.
 */
export function findPersonalData(
  text: string,
  { kinds = personalKinds }: { kinds?: readonly PersonalKind[] } = {},
): Finding[] {
  const found = patterns.flatMap(({ kind, pattern, isOne }) =>
    [...text.matchAll(pattern)].flatMap(({ 0: match, index }) =>
      isOne === undefined || isOne(match) ? [{ kind, start: index, end: index + match.length }] : [],
    ),
  )
  const all = [...found, ...phones(text)].filter(({ kind }) => kinds.includes(kind))
  const seen = new Set<string>()
  return all
    .sort((one, other) => one.start - other.start || other.end - one.end)
    .filter(({ kind, start }) => !seen.has(`${kind} ${start}`) && seen.add(`${kind} ${start}`))
}
