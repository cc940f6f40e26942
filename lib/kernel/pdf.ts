/** Characters that the standard PDF fonts can show: Windows-1252 (ISO 32000-1, annex D). */
const shown = /^[\x20-\x7e\xa0-\xff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]$/u

/**
 * Returns a text as the page shows it: a backslash, or a character that the fonts lack, is shown by its number, such as
 * `\u{4E2D}`. The encoding is unambiguous; an attachment can have the original text.
 */
export const onPage = (text: string): string =>
  Array.from(text, (character) =>
    shown.test(character) && character !== '\\'
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}}`,
  ).join('')

interface Attachment {
  name: string
  text: string
  description: string
}
/** Writes the page of a document from the top. */
export interface PdfPage {
  title(text: string): void
  heading(text: string): void
  /** `above`: the space before it. */
  line(text: string, above?: number): void
  fact(label: string, value: string): void
  /** A text that is written as it is, which must contain only characters of the standard fonts. */
  raw(text: string, look?: { font: 'Helvetica' | 'Courier'; size: number }): void
}

/** Renders a tagged PDF with JSON files as attachments. The same arguments give the same bytes. */
export async function writtenPdf(
  { title, at, attachments = [] }: { title: string; at: Date; attachments?: readonly Attachment[] },
  write: (page: PdfPage) => void,
): Promise<Uint8Array<ArrayBuffer>> {
  // Imported on first use: most processes never make a PDF and need not load its font tables.
  const { default: PDFDocument } = await import('pdfkit')
  const page = new PDFDocument({
    size: 'A4',
    margins: { top: 56, bottom: 56, left: 56, right: 56 },
    pdfVersion: '1.7',
    tagged: true,
    lang: 'en',
    displayTitle: true,
    info: { Title: title, Creator: 'KnowledgePulse', Producer: 'KnowledgePulse', CreationDate: at, ModDate: at },
  })
  const bytes: Buffer[] = []
  const ended = new Promise<void>((done, failed) => page.once('end', done).once('error', failed))
  page.on('data', (piece: Buffer) => bytes.push(piece))
  const document = page.struct('Document')
  page.addStructure(document)
  const put = (tag: 'H1' | 'H2' | 'P', font: string, size: number, text: string, above = 0): void => {
    document.add(
      page.struct(tag, {}, () => {
        page.y += above
        page.font(font).fontSize(size).text(text, { lineGap: 2 })
      }),
    )
  }
  const line = (text: string, above = 2) => put('P', 'Helvetica', 10, onPage(text), above)
  write({
    title: (text) => put('H1', 'Helvetica-Bold', 18, text),
    heading: (text) => put('H2', 'Helvetica-Bold', 12, text, 12),
    line,
    fact: (label, value) => line(`${label}: ${value}`),
    raw: (text, look) => (look ? put('P', look.font, look.size, text) : put('P', 'Helvetica', 10, text, 2)),
  })
  document.end()
  for (const { name, text, description } of attachments)
    page.file(Buffer.from(text), { name, type: 'application/json', description, creationDate: at, modifiedDate: at })
  page.end()
  await ended
  return new Uint8Array(Buffer.concat(bytes))
}
