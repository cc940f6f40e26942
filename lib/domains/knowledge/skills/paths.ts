import { maxFiles } from './rules.ts'

const longestPath = 200
const deepest = 8
/** Device names reserved by Windows, with any extension. */
const device = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i

/** Equal for two paths that some file system treats as the same. */
const folded = (path: string): string => path.normalize('NFKC').toLowerCase()

/** Why a skill's file cannot have this path; undefined if it can. */
export function pathFault(path: string): string | undefined {
  if (path === '') return 'is empty'
  if (path.length > longestPath) return `must have at most ${longestPath} characters`
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(path) || !path.isWellFormed()) return 'contains an invisible character'
  if (path !== path.normalize('NFC')) return 'is not composed (NFC)'
  // Also check full-width dots and slashes: some programs treat them as ASCII.
  for (const form of [path, path.normalize('NFKC')]) {
    if (form.includes('\\')) return 'must use forward slashes'
    if (form.startsWith('/')) return 'must be relative to the skill’s folder'
    if (/[<>:"|?*]/.test(form)) return 'contains one of < > : " | ? *, which some systems do not allow'
    const segments = form.split('/')
    if (segments.includes('..')) return 'leaves the skill’s folder'
    if (segments.includes('') || segments.includes('.')) return 'is not in its shortest form'
    if (segments.length > deepest) return `is nested deeper than ${deepest} folders`
    if (segments.some((segment) => /^\s|[\s.]$/.test(segment)))
      return 'has a name that begins or ends with a space or ends with a dot'
    if (segments.some((segment) => device.test(segment))) return 'has a name that some systems reserve for devices'
    if (segments[0]?.startsWith('~')) return 'begins with a tilde, which shells expand to a home folder'
    if (segments.some((segment) => segment.toLowerCase() === '.git')) return 'is in a .git folder'
    if (form.toLowerCase() === 'skill.md') return 'is SKILL.md, which must be sent as skill_md'
  }
  return undefined
}

/** Faults of a skill's file paths by index: of a path itself, or in relation to an earlier one. */
export function pathFaults(paths: readonly string[]): { index: number; message: string }[] {
  if (paths.length > maxFiles) return [{ index: maxFiles, message: `exceeds the limit of ${maxFiles} files` }]
  const files = new Set<string>()
  const folders = new Set<string>()
  return paths.flatMap((path, index) => {
    const alone = pathFault(path)
    if (alone !== undefined) return [{ index, message: alone }]
    const key = folded(path)
    const above = key.split('/').flatMap((_, depth, parts) => (depth > 0 ? [parts.slice(0, depth).join('/')] : []))
    const isTaken = files.has(key) || folders.has(key) || above.some((folder) => files.has(folder))
    files.add(key)
    for (const folder of above) folders.add(folder)
    return isTaken ? [{ index, message: 'has the same path as another file or folder, or differs only by case' }] : []
  })
}
