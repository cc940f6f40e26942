import type { Unit } from '../unit.ts'
import { eachWord } from './words.ts'

/** Weights of PostgreSQL's text search: A for names and objectives, B for tools and domains, C for summaries, D for the rest. */
export interface WeightedText {
  weight: 'A' | 'B' | 'C' | 'D'
  text: string
}

/** Limits of a `tsvector` (PostgreSQL, "Limitations" of text search): positions up to 16,383; 1 MB of words and positions together. */
const lastPosition = 16_383
const maxBytes = 900_000
/** Maximum distinct words of one text, which bounds its size in the index. */
export const maxIndexedWords = 6_000
/** Maximum positions stored per word; more do not improve ranking. */
const maxPlaces = 16
const weights = ['A', 'B', 'C', 'D'] as const
const marks = ['A', 'B', 'C', ''] as const

/** Returns a `tsvector` in text form. Words beyond its limits or {@link maxIndexedWords} are omitted; texts with high weights are added first. */
export function searchVector(texts: readonly WeightedText[]): string {
  /** For each word its positions times 4, plus the index of their weight. */
  const places = new Map<string, number[]>()
  let position = 0
  let bytes = 0
  for (const [number, weight] of weights.entries())
    for (const one of texts) {
      if (one.weight !== weight) continue
      // Leave a gap, so that words of different texts are never adjacent.
      position = Math.min(position + 1, lastPosition)
      eachWord(one.text, (word, _start, _end, step) => {
        position = Math.min(position + step, lastPosition)
        const known = places.get(word)
        if (known === undefined) {
          // At most three bytes per UTF-16 unit, plus the overhead per word.
          bytes += word.length * 3 + 8
          if (bytes < maxBytes && places.size < maxIndexedWords) places.set(word, [position * 4 + number])
        } else if (known.length < maxPlaces && position < lastPosition) {
          bytes += 2
          known.push(position * 4 + number)
        }
      })
    }
  let vector = ''
  for (const [word, list] of places) {
    vector += `${word}:`
    for (let at = 0; at < list.length; at++) {
      const place = list[at] ?? 0
      vector += `${at > 0 ? ',' : ''}${place >> 2}${marks[place & 3]}`
    }
    vector += ' '
  }
  return vector
}

/** Maximum nesting depth that is indexed; validated units are less deep. */
const deepest = 64

/** All searchable texts of a unit, main topic first. Of its ids only the last part of its own id is included; times are not. */
export function weightedTextsOf(unit: Unit): WeightedText[] {
  const texts: WeightedText[] = []
  const add = (weight: WeightedText['weight'], text: string | undefined): void => {
    if (text !== undefined && text !== '') texts.push({ weight, text })
  }
  /** Collects texts, numbers and member names of payloads in any form. */
  const collect = (value: unknown, depth = 0): void => {
    if (typeof value === 'string') add('D', value)
    else if (typeof value === 'number') add('D', String(value))
    else if (typeof value !== 'object' || value === null || depth > deepest) return
    else if (Array.isArray(value)) for (const item of value) collect(item, depth + 1)
    else
      for (const [name, item] of Object.entries(value)) {
        add('D', name)
        collect(item, depth + 1)
      }
  }
  const { metadata } = unit
  add('B', metadata.task_domain)
  add('B', metadata.framework)
  add('D', unit.id?.split(':').at(-1))
  switch (unit['@type']) {
    case 'ReasoningTrace':
      add('A', unit.task.objective)
      add('B', unit.source_skill)
      for (const step of unit.steps) {
        add('D', step.content)
        add('B', step.tool?.name)
        add('B', step.tool?.mcp_server)
        collect(step.input)
        add('D', step.output_summary)
      }
      add('C', unit.outcome.result_summary)
      collect(unit.task.input_schema)
      collect(unit.knowledge_graph_delta?.entities)
      collect(unit.knowledge_graph_delta?.relationships)
      break
    case 'ToolCallPattern':
      add('A', unit.name)
      add('C', unit.description)
      for (const name of [...unit.trigger_conditions.task_types, ...(unit.trigger_conditions.required_tools ?? [])])
        add('B', name)
      for (const step of unit.tool_sequence) {
        add('D', step.condition)
        for (const tool of step.tools) {
          add('B', tool.name)
          add('D', tool.query_template)
          collect(tool.input_template)
        }
      }
      break
    case 'ExpertSOP':
      add('A', unit.name)
      add('B', unit.domain)
      add('D', unit.source.expert_id)
      collect(unit.source.credentials)
      for (const step of unit.decision_tree) {
        if (typeof step.step === 'string') add('D', step.step)
        add('C', step.instruction)
        collect(step.criteria)
        collect(step.conditions)
        for (const tool of step.tool_suggestions ?? []) {
          add('B', tool.name)
          add('D', tool.when)
        }
      }
      collect(unit.validation?.test_cases)
  }
  return texts
}
