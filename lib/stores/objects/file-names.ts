/**
 * The file name of a key: each segment is percent-encoded (letters, digits, `-` and `_` stay), and the last gets the ending `.o`. A
 * segment too long for a file name is split into folders that end in `+`. Dots and slashes of a key never become part of the path.
 */
const longest = 200
const plain = /^[A-Za-z0-9_-]$/

const encoded = (character: string): string =>
  plain.test(character)
    ? character
    : [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')

function piecesOf(segment: string): string[] {
  const pieces = ['']
  for (const character of segment) {
    const text = encoded(character)
    if ((pieces.at(-1) ?? '').length + text.length > longest) pieces.push('')
    pieces.push((pieces.pop() ?? '') + text)
  }
  return pieces
}

/** The folders of the file, and its name without the ending. */
export function pathOfKey(key: string): { folders: string[]; name: string } {
  const folders: string[] = []
  for (const segment of key.split('/')) {
    const pieces = piecesOf(segment)
    folders.push(...pieces.slice(0, -1).map((piece) => `${piece}+`), pieces.at(-1) ?? '')
  }
  return { name: folders.pop() ?? '', folders }
}

/** What a name in the folder is: an object, an unfinished upload, a folder for a whole segment, or a folder for the beginning of one. */
export type StoredFileName =
  | { kind: 'object'; text: string }
  | { kind: 'upload'; text: string; id: string }
  | { kind: 'folder'; text: string }
  | { kind: 'beginning'; text: string }

const form = /^((?:[A-Za-z0-9_-]|%[0-9A-F]{2})+)(\.o|\.[0-9a-f]{16}\.tmp|\+)?$/

/** Undefined if the name is not one of ours. */
export function parseFileName(name: string): StoredFileName | undefined {
  const [, stem = '', ending = ''] = form.exec(name) ?? []
  if (stem === '') return undefined
  const text = decodeURIComponent(stem)
  if (ending === '.o') return { kind: 'object', text }
  if (ending === '+') return { kind: 'beginning', text }
  return ending === '' ? { kind: 'folder', text } : { kind: 'upload', text, id: ending.slice(1, 17) }
}
