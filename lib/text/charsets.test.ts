import { describe, expect, it } from 'vitest'
import { charsetOf, decodedText } from './charsets.ts'

const texts: Record<string, [text: string, labels: string[]]> = {
  German: ['Der Kunde Müller wohnt in der Hauptstraße und möchte Geld zurück.\n', ['windows-1252', 'macintosh']],
  'German in two words': ['Name;Ort\nMüller;Köln\n', ['windows-1252']],
  French: [
    'Le client a été déçu par la livraison à Orléans, où le garçon était parti.\n',
    ['windows-1252', 'macintosh'],
  ],
  Spanish: ['El niño comió mañana en Córdoba; la señora pidió información según el médico.\n', ['windows-1252']],
  Portuguese: ['A situação não é fácil; os irmãos pediram informações à direção do hospital.\n', ['windows-1252']],
  Danish: ['Vi måtte køre hjem fra Ålborg, fordi børnene var syge på søndag.\n', ['windows-1252']],
  'English with typographic signs': ['He said “I don’t know” — the client’s order cost €30 …\n', ['windows-1252']],
  Polish: ['Klient zgłosił opóźnioną dostawę i brak części w przesyłce, prosi o zwrot pieniędzy.\n', ['windows-1250']],
  Czech: ['Příliš žluťoučký kůň úpěl ďábelské ódy; pacient měl včera večer horečku.\n', ['windows-1250']],
  Hungarian: ['Árvíztűrő tükörfúrógép; a beteg tegnap este lázas volt, és az orvos nem jött el.\n', ['windows-1250']],
  Russian: [
    'Клиент сообщил, что доставка опоздала на три дня, и просит вернуть деньги.\n',
    ['windows-1251', 'koi8-u', 'ibm866'],
  ],
  'Russian in capitals': ['ЗАЯВЛЕНИЕ О ВОЗВРАТЕ ДЕНЕГ ЗА НЕДОСТАВЛЕННЫЙ ТОВАР\n', ['windows-1251', 'ibm866']],
  Ukrainian: ['Клієнт повідомив, що доставка запізнилася, і попросив повернути гроші.\n', ['windows-1251', 'koi8-u']],
  Greek: ['Ο πελάτης ανέφερε ότι η παράδοση καθυστέρησε και ζήτησε επιστροφή χρημάτων.\n', ['windows-1253']],
  Turkish: ['Müşteri teslimatın üç gün geciktiğini bildirdi ve parasının iadesini istedi.\n', ['windows-1254']],
  Hebrew: ['הלקוח דיווח שהמשלוח איחר בשלושה ימים וביקש את כספו בחזרה.\n', ['windows-1255']],
  Arabic: ['أبلغ العميل أن التسليم تأخر ثلاثة أيام وطلب استرداد المبلغ إلى حسابه.\n', ['windows-1256']],
  Thai: ['ลูกค้าแจ้งว่าการจัดส่งล่าช้าสามวันและขอเงินคืนเข้าบัญชี\n', ['windows-874']],
  'Chinese, simplified': ['客户反映送货晚了三天，要求尽快把钱退回到他的银行卡里。\n', ['gb18030']],
  'Chinese, traditional': ['客戶反映送貨晚了三天，要求盡快把錢退回到他的銀行卡裡。\n', ['big5']],
  Japanese: ['お客様から配送が三日遅れたと連絡があり、返金を求められました。\n', ['shift_jis', 'euc-jp']],
  Korean: ['고객이 배송이 사흘 늦었다고 알려 왔으며 환불해 달라고 요청했습니다.\n', ['euc-kr']],
}

const codes = new Map<string, Map<string, number[]>>()
function tableOf(label: string): Map<string, number[]> {
  const known = codes.get(label)
  if (known) return known
  const decoder = new TextDecoder(label)
  const table = new Map<string, number[]>()
  const add = (...bytes: number[]) => {
    const sign = decoder.decode(Uint8Array.from(bytes))
    if ([...sign].length === 1 && sign !== '\ufffd' && !table.has(sign)) table.set(sign, bytes)
  }
  for (let code = 0; code < 256; code++) add(code)
  if (/gb|jis|big5|euc/.test(label))
    for (let first = 0x81; first < 0xff; first++) for (let second = 0x40; second < 0xff; second++) add(first, second)
  codes.set(label, table)
  return table
}
function inEncoding(text: string, label: string): Uint8Array {
  const table = tableOf(label)
  return Uint8Array.from(
    [...text].flatMap((sign) => {
      const bytes = table.get(sign)
      if (!bytes) throw new Error(`${label} has no ${sign}`)
      return bytes
    }),
  )
}
const wide = (text: string, order: 'le' | 'be'): Buffer => {
  const bytes = Buffer.from(text, 'utf16le')
  return order === 'be' ? bytes.swap16() : bytes
}

/** Texts that have no other encoding here. */
const inUtf8Only: Record<string, string> = {
  Vietnamese: 'Khách hàng báo rằng việc giao hàng bị trễ ba ngày và yêu cầu hoàn lại tiền.\n',
  Hindi: 'ग्राहक ने बताया कि डिलीवरी तीन दिन देर से हुई और उसने पैसे वापस माँगे।\n',
}
const inUtf8 = [
  ...Object.entries(texts).map(([language, [text]]) => [language, text] as const),
  ...Object.entries(inUtf8Only),
]

describe('decodedText', () => {
  it.each(
    Object.entries(texts).flatMap(([language, [text, labels]]) =>
      labels.map((label) => [language, label, text] as const),
    ),
  )('reads %s in %s when nobody states the encoding', (_, label, text) => {
    expect(decodedText(inEncoding(text, label))).toBe(text)
    expect(decodedText(inEncoding(`Id;Text\n${'1;plain\n'.repeat(2_000)}2;${text}`, label))).toContain(text)
  })

  it.each(Object.entries(texts))('reads %s in UTF-8 and UTF-16', (_, [text]) => {
    for (const charset of [undefined, 'windows-1252', 'utf-16le', 'no such thing'])
      expect(decodedText(Buffer.from(text), charset)).toBe(text)
    for (const order of ['le', 'be'] as const) {
      expect(decodedText(wide(text, order))).toBe(text)
      expect(decodedText(wide(`\ufeff${text}`, order))).toBe(text)
    }
  })

  it('reads the encoding that the client states when the text is not UTF-8', () => {
    const bytes = Uint8Array.of(0xc0, 0xc1, 0xc2)
    expect(decodedText(bytes, 'windows-1251')).toBe('АБВ')
    expect(decodedText(bytes, 'KOI8-R')).toBe('юаб')
    expect(decodedText(Buffer.from('\x1b$B$3$s\x1b(B'), 'iso-2022-jp')).toBe('こん')
  })

  it.each([
    ['a text with NUL characters', 'one\0two\0three\0'],
    ['a text with a byte order mark', '\ufeffName;Ort\n'],
    ['a text with the replacement character', 'lost: \ufffd\n'],
    ['an empty text', ''],
  ])('reads %s as UTF-8, byte for byte', (_, text) => {
    expect(charsetOf(Buffer.from(text))).toBe('utf-8')
    expect(Buffer.from(decodedText(Buffer.from(text)))).toEqual(Buffer.from(text))
  })

  it('reads UTF-8 with a few damaged bytes as UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('Größe und Straße, müde Mädchen in Köln. '), Buffer.of(0xff, 0xc3)])
    expect(decodedText(bytes)).toContain('Größe und Straße, müde Mädchen in Köln.')
  })

  describe.each(inUtf8)('of %s in UTF-8', (_, text) => {
    const bytes = Buffer.from(text)
    const latin1 = Buffer.from('Café à Noël\n', 'latin1')
    it.each(['', 'windows-1252', 'utf-16le'])(
      'keeps the words around damaged bytes when the client states "%s"',
      (charset) => {
        const [sign] = text.match(/[^\0-\x7f]/) ?? []
        const cut = Buffer.from(text + sign).subarray(0, -1)
        expect(decodedText(cut, charset).startsWith(text)).toBe(true)
        for (const other of [Buffer.of(0xff), Buffer.of(0, 0xff), Buffer.of(0xff, 10)]) {
          expect(decodedText(Buffer.concat([bytes, other]), charset)).toContain(text)
          expect(decodedText(Buffer.concat([other, bytes]), charset)).toContain(text)
        }
      },
    )
    it('keeps the words beside a line in another encoding, and reads that line', () => {
      for (const all of [
        [bytes, latin1],
        [latin1, bytes],
        [bytes, latin1, bytes],
      ]) {
        const read = decodedText(Buffer.concat(all))
        expect(read).toContain(text)
        expect(read).toContain('Café à Noël')
      }
    })
  })
})
