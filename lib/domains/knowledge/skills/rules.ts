/** Files beside SKILL.md, and the lengths of what its front matter says; characters are UTF-16 units. */
export const mostFiles = 100
export const limits = {
  /** Of the front matter as a whole: the longest that is published is a tenth of it. */
  frontMatter: 32_768,
  name: 64,
  description: 4_096,
  /** What the published format allows; longer ones are out there, so they are taken with a warning. */
  usualDescription: 1_024,
  line: 500,
  tag: 64,
  tags: 50,
  tool: 200,
  tools: 100,
  /** Objects and lists within each other, and members and elements in all, of kp{…}. */
  kpDepth: 8,
  kpMembers: 500,
} as const

/** What the registry reads of a skill's front matter. */
export interface FrontMatter {
  name: string
  description: string
  version: string | null
  author: string | null
  license: string | null
  /** In small letters, each once. */
  tags: string[]
  /** Null where nothing is claimed; empty where the skill claims to need none. */
  allowed_tools: string[] | null
  /** As it was given. */
  kp: Record<string, unknown> | null
}
/** What is wrong with a skill, and where: SKILL.md unless another file is named. Lines and columns count from 1. */
export interface Fault {
  file?: string
  line: number
  column?: number
  message: string
}

const share = (part: number, whole: number): number => Math.min(1, part / whole)

/**
 * The registry's own quality of a skill, 0–1, rounded to four places: three parts how much there is to go by (2,000 characters of
 * text are enough), three how much of its front matter is given (version, author, license, tags, tools), three how well its
 * description says when to use it (120 characters are enough), one whether files come with it. Half of that for a skill that
 * misrepresents itself.
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
