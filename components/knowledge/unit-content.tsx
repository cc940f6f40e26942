import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Badge } from '#components/ui/badge.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { percent, type ShownUnit } from './knowledge.ts'

/** User text, with its own writing direction and line breaks. */
export const Written = ({ text }: { text: string }) => (
  <p dir="auto" className="whitespace-pre-wrap [overflow-wrap:anywhere]">
    {text}
  </p>
)
const Heading = ({ children }: { children: ReactNode }) => <h3 className="font-medium">{children}</h3>
const Block = ({ title, children }: { title: string; children: ReactNode }) => (
  <div className="grid gap-1.5">
    <Heading>{title}</Heading>
    {children}
  </div>
)

/** Any value, collapsed, because most readers do not need it. */
function Payload({ title, value }: { title: string; value: unknown }) {
  return (
    <details>
      <summary className="w-fit cursor-pointer text-sm text-accent">{title}</summary>
      <pre className="mt-1 rounded-box border border-line bg-sunken px-3 py-2 font-mono text-[0.8125rem] whitespace-pre-wrap [overflow-wrap:anywhere]">
        {typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
      </pre>
    </details>
  )
}

/** Numbers steps from 1, because they have no names. */
const numbered = <T,>(all: readonly T[]) => all.map((one, at) => ({ one, n: at + 1 }))

const Step = ({ head, children }: { head: ReactNode; children: ReactNode }) => (
  <li className="grid gap-1.5 border-l-2 border-line pl-4">
    <p className="flex flex-wrap items-center gap-2 text-sm text-quiet">{head}</p>
    {children}
  </li>
)

/** A unit in readable form. */
export function UnitContent({ unit }: { unit: ShownUnit }) {
  switch (unit['@type']) {
    case 'ReasoningTrace':
      return <Trace unit={unit} />
    case 'ToolCallPattern':
      return <Pattern unit={unit} />
    case 'ExpertSOP':
      return <Procedure unit={unit} />
  }
}

function Trace({ unit }: { unit: Extract<ShownUnit, { '@type': 'ReasoningTrace' }> }) {
  const t = useTranslations('knowledge.unit')
  return (
    <div className="grid gap-6">
      <Block title={t('objective')}>
        <Written text={unit.task.objective} />
      </Block>
      <Block title={t('stepsOf', { count: unit.steps.length })}>
        <ol className="grid gap-4">
          {numbered(unit.steps).map(({ one: step, n }) => (
            <Step key={n} head={<StepHead n={n} step={step} />}>
              {step.content !== undefined && <Written text={step.content} />}
              {step.output_summary !== undefined && <Written text={step.output_summary} />}
              {step.input !== undefined && <Payload title={t('input')} value={step.input} />}
            </Step>
          ))}
        </ol>
      </Block>
      <Block title={t('outcome')}>
        <Written text={unit.outcome.result_summary} />
        <p className="text-quiet">
          {t(unit.metadata.success ? 'success' : 'failure')} ·{' '}
          {t('confidence', { percent: percent(unit.outcome.confidence) })}
        </p>
      </Block>
    </div>
  )
}
function StepHead({
  n,
  step,
}: {
  n: number
  step: Extract<ShownUnit, { '@type': 'ReasoningTrace' }>['steps'][number]
}) {
  const t = useTranslations('knowledge.unit')
  return (
    <>
      <span>{t('step', { n })}</span>
      <Badge>{t(`stepTypes.${step.type}`)}</Badge>
      {step.tool && <bdi>{t('tool', { tool: step.tool.name })}</bdi>}
    </>
  )
}

function Pattern({ unit }: { unit: Extract<ShownUnit, { '@type': 'ToolCallPattern' }> }) {
  const t = useTranslations('knowledge.unit')
  const { colon } = usePunctuation()
  const { uses, success_rate, avg_ms } = unit.performance
  return (
    <div className="grid gap-6">
      <Block title={t('description')}>
        <Written text={unit.description} />
      </Block>
      <Block title={t('triggers')}>
        <Written text={unit.trigger_conditions.task_types.join(' · ')} />
        {unit.trigger_conditions.required_tools && (
          <p className="text-quiet">
            {`${t('requiredTools')}${colon}`}
            <bdi>{unit.trigger_conditions.required_tools.join(', ')}</bdi>
          </p>
        )}
      </Block>
      <Block title={t('sequence')}>
        <ol className="grid gap-4">
          {numbered(unit.tool_sequence).map(({ one: step, n }) => (
            <Step
              key={n}
              head={
                <>
                  <span>{t('step', { n })}</span>
                  {step.tools.length > 1 && <Badge>{t(step.execution)}</Badge>}
                </>
              }
            >
              <Written text={step.tools.map(({ name }) => name).join(', ')} />
              {step.condition !== undefined && <Written text={t('condition', { condition: step.condition })} />}
              {step.tools.some(({ query_template, input_template }) => query_template || input_template) && (
                <Payload title={t('input')} value={step.tools} />
              )}
            </Step>
          ))}
        </ol>
      </Block>
      <Block title={t('performance')}>
        <p>{t('performanceText', { uses, percent: percent(success_rate), ms: Math.round(avg_ms) })}</p>
      </Block>
    </div>
  )
}

function Procedure({ unit }: { unit: Extract<ShownUnit, { '@type': 'ExpertSOP' }> }) {
  const t = useTranslations('knowledge.unit')
  const { colon } = usePunctuation()
  const format = useFormatter()
  const cases = unit.validation?.test_cases.length ?? 0
  return (
    <div className="grid gap-6">
      <Block title={t('procedure')}>
        <ol className="grid gap-4">
          {numbered(unit.decision_tree).map(({ one: step, n }) => (
            <Step key={n} head={<bdi>{t('step', { n: step.step })}</bdi>}>
              <Written text={step.instruction} />
              {Object.entries(step.conditions ?? {}).map(([condition, { action, sla_min }]) => (
                <p key={condition} dir="auto" className="text-quiet">
                  {t('conditionAction', { condition, action })}
                  {sla_min !== undefined && `${open}${t('sla', { minutes: sla_min })}${close}`}
                </p>
              ))}
              {step.tool_suggestions?.map(({ name, when }) => (
                <p key={name + when} dir="auto" className="text-quiet">
                  {t('toolWhen', { tool: name, when })}
                </p>
              ))}
              {step.criteria !== undefined && <Payload title={t('criteria')} value={step.criteria} />}
            </Step>
          ))}
        </ol>
      </Block>
      <Block title={t('expert')}>
        <Written text={unit.source.expert_id} />
        {unit.source.credentials.length > 0 && (
          <p className="text-quiet">
            {`${t('credentials')}${colon}`}
            <bdi>{format.list(unit.source.credentials)}</bdi>
          </p>
        )}
      </Block>
      {cases > 0 && <Payload title={t('testCases', { count: cases })} value={unit.validation?.test_cases} />}
    </div>
  )
}
