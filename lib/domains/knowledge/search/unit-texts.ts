import type { Unit } from '../unit.ts'
import type { WeightedText } from './vector.ts'

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
