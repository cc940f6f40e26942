import { examineSkill, type PreparedSkill } from '#lib/domains/knowledge/skills/preparation.ts'
import type { SkillSource } from './skill-source.ts'
import { skillFile } from './skill-source.ts'

export interface ExaminedSkill {
  /** As the registry would store it. Undefined when there are faults. */
  prepared: PreparedSkill | undefined
  /** Each with its file and line. */
  faults: string[]
  warnings: string[]
}

const placeOf = ({
  file,
  line,
  column,
}: {
  file?: string | undefined
  line: number
  column?: number | undefined
}): string => `${file ?? skillFile}:${line}${column === undefined ? '' : `:${column}`}`

/** The file of the skill that a rejection concerns. */
function fileOf(path: readonly (string | number)[], skill: SkillSource): string {
  const index = path[0] === 'files' ? path[1] : undefined
  return (typeof index === 'number' ? skill.files[index]?.path : undefined) ?? skillFile
}

/** Checks a skill locally with the same code as the registry. */
export function examined(skill: SkillSource): ExaminedSkill {
  const { skill: prepared, faults, rejections, warnings } = examineSkill(skill, { strict: false })
  return {
    prepared,
    faults: [
      ...faults.map((fault) => `${placeOf(fault)} ${fault.message}`),
      ...rejections.map(
        (rejection) =>
          `${placeOf({ ...rejection, file: fileOf(rejection.path ?? [], skill) })} is rejected by the sanitizer (${rejection.stage}: ${rejection.rule})`,
      ),
    ],
    warnings,
  }
}
