import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { schemaContext, Unit } from '#lib/domains/knowledge/contract.ts'
import { demoProblems, ownSkills, procedures, tools } from './own-material.ts'

type Visibility = 'private' | 'org' | 'network'
const visibilityOf = (n: number): Visibility => (n % 7 === 3 ? 'private' : n % 4 === 2 ? 'org' : 'network')

const metadata = (n: number, domain: string, at: Date, isSuccess: boolean) => ({
  created_at: at.toISOString(),
  framework: ['langgraph', 'own loop', 'autogen'][n % 3] ?? 'own loop',
  task_domain: domain,
  success: isSuccess,
  quality_score: 0.5 + (n % 5) / 10,
  visibility: visibilityOf(n),
  privacy_level: 'aggregated',
})
const pick = <T>(list: readonly T[], n: number): T => {
  const found = list[n % list.length]
  if (found === undefined) throw new Error('there is nothing to choose from')
  return found
}

/** An example trace: problem, search, cause and remedy. */
function trace(n: number, at: Date): unknown {
  const { domain, objective, suspects, cause, remedy } = pick(demoProblems, n)
  const place = pick(tools, Math.floor(n / demoProblems.length))
  const isSuccess = n % 9 !== 4
  return {
    '@context': schemaContext,
    '@type': 'ReasoningTrace',
    metadata: metadata(n, domain, at, isSuccess),
    task: { objective: `${objective} (${place.system})` },
    steps: [
      { step_id: 0, type: 'thought', content: `Before changing anything: ${pick(suspects, n)}?` },
      {
        step_id: 1,
        type: 'tool_call',
        tool: { name: place.tool },
        input: { command: place.command },
        latency_ms: 80 + ((n * 37) % 900),
      },
      {
        step_id: 2,
        type: 'observation',
        output_summary: `${place.shows}; nothing speaks for ${pick(suspects, n + 1)}.`,
      },
      ...(n % 3 === 0
        ? [
            {
              step_id: 3,
              type: 'error_recovery',
              content: `The first remedy changed nothing and was taken back. Next suspect: ${pick(suspects, n + 2)}.`,
            },
          ]
        : []),
      { step_id: 4, type: 'thought', content: `It was this: ${cause}` },
    ],
    outcome: {
      result_summary: isSuccess
        ? `${remedy} Seen on ${place.system}.`
        : `Not solved on ${place.system}; what is known so far: ${cause}`,
      confidence: isSuccess ? 0.7 + (n % 3) / 10 : 0.3,
    },
  }
}
function pattern(n: number, at: Date): unknown {
  const place = pick(tools, n)
  const next = pick(tools, n + 3)
  const { domain, objective } = pick(demoProblems, n * 5 + 1)
  return {
    '@context': schemaContext,
    '@type': 'ToolCallPattern',
    metadata: metadata(n + 1, domain, at, true),
    name: `${place.tool}, then ${next.tool}`,
    description: `For tasks such as: ${objective} First what ${place.system} says, then what ${next.system} says of the same minute; a change only after both agree.`,
    trigger_conditions: { task_types: [domain, 'diagnosis'], required_tools: [place.tool] },
    tool_sequence: [
      { step: 1, execution: 'sequential', tools: [{ name: place.tool, query_template: place.command }] },
      {
        step: 2,
        execution: n % 2 === 0 ? 'parallel' : 'sequential',
        tools: [{ name: next.tool, query_template: next.command }, { name: 'notes' }],
      },
    ],
    performance: { avg_ms: 120 + ((n * 61) % 2_000), success_rate: 0.6 + (n % 4) / 10, uses: 3 + ((n * 7) % 90) },
  }
}

/** An example unit. Every eighth is a tool pattern. */
export const ownUnit = (n: number, at: Date): unknown => (n % 8 === 5 ? pattern(n, at) : trace(n, at))

/** An expert's procedure. `revision` is the number of earlier versions. */
export function procedure(n: number, expert: string, at: Date, revision = 0): Extract<Unit, { '@type': 'ExpertSOP' }> {
  const { name, domain, steps } = pick(procedures, n)
  const unit = Unit.parse({
    '@context': schemaContext,
    '@type': 'ExpertSOP',
    metadata: { ...metadata(4 * n, domain, at, true), visibility: n % 3 === 2 ? 'org' : 'network' },
    name,
    domain,
    source: { type: 'human_expert', expert_id: expert, credentials: ['on call for this since 2021'] },
    decision_tree: steps.map((instruction, at) => ({
      step: at + 1,
      instruction: revision > 0 && at === 0 ? `${instruction} Write down when you began.` : instruction,
      ...(at === 0 && { criteria: { writers: 0 } }),
      ...(at === 1 && { conditions: { 'it fails twice': { action: 'Call whoever is on duty.', sla_min: 30 } } }),
    })),
    validation: { test_cases: [{ given: 'a rehearsal', expect: 'the same end within the hour' }] },
  })
  if (unit['@type'] !== 'ExpertSOP') throw new Error('a procedure is an SOP')
  return unit
}

export interface Material {
  /** The units as stored in the folder, without ids and authors. */
  traces: unknown[]
  skills: string[]
  /** A description of their source. */
  source: string
}

/** Removes ids and dates of another installation. */
function withoutOrigin(line: string): unknown {
  const { id: _, ...unit }: Record<string, unknown> = JSON.parse(line)
  return unit
}

/** Real traces and skills of a folder (`traces.jsonl`, `skills/<name>/SKILL.md`) if it has some, otherwise the built-in skills. */
export function materialIn(folder: string): Material {
  const lines = join(folder, 'traces.jsonl')
  const skillsFolder = join(folder, 'skills')
  const traces = existsSync(lines)
    ? readFileSync(lines, 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map(withoutOrigin)
    : []
  const skills = existsSync(skillsFolder)
    ? readdirSync(skillsFolder)
        .map((name) => join(skillsFolder, name, 'SKILL.md'))
        .filter((file) => existsSync(file))
        .map((file) => readFileSync(file, 'utf8'))
    : []
  return {
    traces,
    skills: [...skills, ...ownSkills],
    source:
      traces.length + skills.length > 0
        ? `${traces.length} traces and ${skills.length} skills of ${folder}, and our own`
        : 'our own',
  }
}
