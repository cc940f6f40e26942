/** Limits for files next to SKILL.md and for front matter; characters are UTF-16 units. */
export const maxFiles = 100
export const limits = {
  /** Of the entire front matter: the longest published one has a tenth of it. */
  frontMatter: 32_768,
  name: 64,
  description: 4_096,
  /** Limit of the published format. Longer descriptions exist, so they are accepted with a warning. */
  usualDescription: 1_024,
  line: 500,
  tag: 64,
  tags: 50,
  tool: 200,
  tools: 100,
  /** Nesting depth and total number of members and elements of `kp`. */
  kpDepth: 8,
  kpMembers: 500,
} as const

/** Front matter fields that the registry reads. */
export interface FrontMatter {
  name: string
  /** The name as given, if the registry derived `name` from it. Missing in rows of earlier versions. */
  title?: string | undefined
  description: string
  version: string | null
  author: string | null
  license: string | null
  /** Lower case, without duplicates. */
  tags: string[]
  /** Null if absent; empty if the skill declares that it needs no tools. */
  allowed_tools: string[] | null
  /** As sent. */
  kp: Record<string, unknown> | null
}
/** A problem of a skill and its position: in SKILL.md unless `file` is set. Lines and columns start at 1. */
export interface Fault {
  file?: string
  line: number
  column?: number
  message: string
}

const share = (part: number, whole: number): number => Math.min(1, part / whole)

/**
 * The registry's own quality of a skill, 0–1, rounded to four places: three parts for the length of its text (2,000 characters are enough),
 * three for complete front matter (version, author, license, tags, tools), three for the length of its description (120 characters are
 * enough), one for included files. Halved for a skill that misrepresents itself.
 */
export function skillQuality(
  { description, version, author, license, tags, allowed_tools }: FrontMatter,
  { bodyLength, files, misrepresents }: { bodyLength: number; files: number; misrepresents: boolean },
): number {
  const given = [version, author, license, tags[0], allowed_tools].filter((value) => value != null).length
  const quality =
    0.3 * share(bodyLength, 2_000) +
    0.3 * share(given, 5) +
    0.3 * share(description.length, 120) +
    0.1 * share(files, 1)
  return Math.round(quality * (misrepresents ? 0.5 : 1) * 10_000) / 10_000
}
