import type { SensitiveKind } from './findings.ts'
import { scan } from './scanner.ts'

const personalKinds = ['email', 'phone', 'address', 'titled_person', 'role', 'iban', 'card', 'national_id'] as const
export type PersonalKind = (typeof personalKinds)[number]
/** Position: UTF-16 offsets, `end` exclusive. */
interface PersonalFinding {
  kind: PersonalKind
  start: number
  end: number
}

const capital = String.raw`\p{Lu}[\p{L}'’-]{0,40}`
const chineseSurnames =
  '王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗高梁郑谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程魏苏吕丁任卢姚沈钟姜崔谭陆范汪廖石金韦贾夏付方邹熊白孟秦邱侯江尹薛闫段雷龙黎史陶贺毛郝顾龚邵万覃武钱戴严莫孔向常汤'

const weights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
/** GB 11643: resident identity number of 18 characters, with date of birth and check character. */
function isChineseId(id: string): boolean {
  const [year, month, day] = [Number(id.slice(6, 10)), Number(id.slice(10, 12)), Number(id.slice(12, 14))]
  if (year < 1850 || year > 2100 || month < 1 || month > 12 || day < 1 || day > 31) return false
  const sum = weights.reduce((total, weight, at) => total + weight * Number(id[at]), 0)
  return '10X98765432'[sum % 11] === id[17]?.toUpperCase()
}

/** Every repetition is bounded, so the cost is linear in the text's length. */
const patterns: readonly { kind: PersonalKind; pattern: RegExp; isOne?: (text: string) => boolean }[] = [
  { kind: 'national_id', pattern: /(?<!\d)[1-9]\d{16}[\dXx](?![\dXx])/g, isOne: isChineseId },
  {
    kind: 'address',
    pattern: new RegExp(
      String.raw`(?<!\p{N})\d{1,5}[A-Za-z]?,? (?:${capital} ){1,4}(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Place|Terrace|Way)(?!\p{L})`,
      'gu',
    ),
  },
  {
    kind: 'address',
    pattern:
      /(?<![\p{L}\p{N}_])\p{Lu}[\p{L}-]{1,40}(?:straße|strasse|str\.|weg|platz|allee|gasse) \d{1,4}[a-z]?(?!\p{L})/gu,
  },
  { kind: 'address', pattern: /[\u4e00-\u9fff]{1,12}(?:路|街|道|巷|弄)\d{1,5}(?:号|弄)/g },
  {
    kind: 'titled_person',
    pattern: new RegExp(
      String.raw`(?<![\p{L}\p{N}_])(?:(?:Mr|Mrs|Ms|Mx|Dr|Prof)\.? ?|(?:Miss|Sir|Dame|Herr|Frau|Madame|Monsieur|Professor|Doctor) )${capital}`,
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
      /(?<![\p{L}\p{N}_])(?:C[EFTOIMRP]O|CHRO|Chief \p{Lu}\p{L}{2,20} Officer|(?:Senior |Executive )?Vice President|S?E?VP|President|Chair(?:man|woman|person)?|Managing Director|Director|General Counsel|(?:Co-)?[Ff]ounder|Treasurer|Head of \p{Lu}\p{L}{1,30})(?: of| at| for|,) (?:the )?\p{Lu}/gu,
  },
  {
    kind: 'role',
    pattern:
      /(?<![\p{L}\p{N}_])\p{Lu}[\p{L}&.-]{1,40}['’]s (?:C[EFTOIMRP]O|CHRO|Chief \p{Lu}\p{L}{2,20} Officer)(?!\p{L})/gu,
  },
  {
    kind: 'role',
    pattern:
      /[\u4e00-\u9fff]{2,12}(?:公司|集团|银行)的?(?:首席(?:执行|财务|技术|运营)官|董事长|总裁|总经理|副总裁|财务总监|创始人)/g,
  },
]
/** Kinds that the scanner recognizes by check digits or form. */
const scanned: Partial<Record<SensitiveKind, PersonalKind>> = {
  email: 'email',
  phone: 'phone',
  iban: 'iban',
  card: 'card',
  ssn: 'national_id',
}

/** Findings of these kinds by form only, unordered; {@link findPersonalData} adds those proven by check digits. */
export const personalForms = (text: string, kinds: readonly PersonalKind[]): PersonalFinding[] =>
  patterns.flatMap(({ kind, pattern, isOne }) =>
    // `search` avoids copying the pattern for each text without a match.
    kinds.includes(kind) && text.search(pattern) >= 0
      ? [...text.matchAll(pattern)].flatMap(({ 0: match, index }) =>
          isOne === undefined || isOne(match) ? [{ kind, start: index, end: index + match.length }] : [],
        )
      : [],
  )

/**
 * Personal data in a text: email addresses, phone numbers (any country's with its code; without one those of the USA and mainland China's
 * mobiles), postal addresses, people by title, offices with their company, and IBANs, card and identity numbers with valid check digits.
 * English and Chinese, some German. Returns positions, never content, ordered by start.
 */
export function findPersonalData(
  text: string,
  { kinds = personalKinds }: { kinds?: readonly PersonalKind[] } = {},
): PersonalFinding[] {
  const findings = personalForms(text, kinds)
  const known = scan(text).flatMap(({ kind, start, end }) => {
    const named = scanned[kind]
    return named === undefined ? [] : [{ kind: named, start, end }]
  })
  const all = [...findings, ...known].filter(({ kind }) => kinds.includes(kind))
  const seen = new Set<string>()
  return all
    .sort((one, other) => one.start - other.start || other.end - one.end)
    .filter(({ kind, start }) => !seen.has(`${kind} ${start}`) && seen.add(`${kind} ${start}`))
}
