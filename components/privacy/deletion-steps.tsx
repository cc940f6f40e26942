'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useRef } from 'react'
import { parseAsStringLiteral } from '#components/frame/query-parsers.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { Button } from '#components/ui/button.tsx'
import { Checkbox } from '#components/ui/field.tsx'
import { Stepper } from '#components/ui/stepper.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { graces } from '#lib/domains/privacy-requests/rules.ts'
import { DeletionConfirm } from './deletion-confirm.tsx'
import { DeletionCopy } from './deletion-copy.tsx'
import { type Consequences, copyChoices, deletionSteps, nameChoices } from './deletion-rules.ts'
import type { GraceRules } from './deletion-start.tsx'
import type { Exports } from './export-desk.tsx'
import type { PasswordIdentity } from './identity-field.tsx'

interface DeletionStepsProps extends GraceRules {
  /** The consequences, in words. */
  what: ReactNode
  numbers: Consequences
  exported: Exports
  agent: { id: string; name: string } | undefined
  identity: PasswordIdentity
  isAdmin: boolean
}

/** Three steps from the consequences to the final button. Only the address holds the step and the choices. */
export function DeletionSteps({ what, numbers, exported, agent, identity, isAdmin, ...rules }: DeletionStepsProps) {
  const t = useTranslations('deletion')
  const [{ step, grace, copy, names }, choose] = useQueryStates({
    step: parseAsStringLiteral(deletionSteps).withDefault('what'),
    grace: parseAsStringLiteral(graces).withDefault('24h'),
    copy: parseAsStringLiteral(copyChoices).withDefault('none'),
    names: parseAsStringLiteral(nameChoices).withDefault('listed'),
  })
  const heading = useFocusOnChange(step)
  const at = deletionSteps.indexOf(step)
  const go = (to: number) => {
    const next = deletionSteps[to]
    if (next) void choose({ step: next }, { history: 'push' })
  }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      <Stepper
        label={t('steps.label')}
        steps={deletionSteps.map((key) => ({ key, title: t(`steps.${key}`) }))}
        current={step}
      />
      <section aria-labelledby="step-title" className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <header className="grid gap-1">
          <h2 id="step-title" ref={heading} tabIndex={-1} className="scroll-mt-28 text-lg font-semibold outline-none">
            {t(`${step}.title`)}
          </h2>
        </header>
        {step === 'what' && what}
        {step === 'what' && !agent && (
          <NameChoice
            isTaken={names === 'taken'}
            onTaken={(isTaken) => void choose({ names: isTaken ? 'taken' : 'listed' })}
          />
        )}
        {step === 'copy' && (
          <DeletionCopy {...{ exported, agent, copy }} onCopy={(value) => void choose({ copy: value })} />
        )}
        {step === 'copy' && (
          <p>
            {t.rich('copy.keys', {
              keys: (text) => (
                <PlainLink href="/.well-known/jwks.json" download="public-keys.json">
                  {text}
                </PlainLink>
              ),
            })}
          </p>
        )}
        {step === 'confirm' && (
          <DeletionConfirm
            {...{ numbers, grace, copy, identity, isAdmin, ...rules }}
            onGrace={(value) => void choose({ grace: value })}
            redacts={names === 'taken' && agent === undefined}
            agentId={agent?.id}
          />
        )}
      </section>
      <div className="flex flex-wrap gap-2 border-t border-line pt-5">
        {at > 0 && (
          <Button tone="plain" onClick={() => go(at - 1)}>
            {t('previous')}
          </Button>
        )}
        {step !== 'confirm' && <Button onClick={() => go(at + 1)}>{t('next')}</Button>}
      </div>
    </div>
  )
}

/** Focuses and shows the heading after a change of step. */
function useFocusOnChange(step: string) {
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    if (shown.current === step) return
    shown.current = step
    heading.current?.focus()
    heading.current?.scrollIntoView({ block: 'start' })
  }, [step])
  return heading
}

/** Whether the name is also removed from records of other people. */
function NameChoice({ isTaken, onTaken }: { isTaken: boolean; onTaken: (isTaken: boolean) => void }) {
  const t = useTranslations('deletion.names')
  return (
    <div className="grid gap-1">
      <Checkbox
        name="names"
        label={t('label')}
        checked={isTaken}
        onChange={({ target: { checked } }) => onTaken(checked)}
      />
      <details className="pl-6.5 text-sm">
        <summary className="min-h-6 cursor-pointer text-accent">{t('details')}</summary>
        <p className="max-w-prose text-quiet">{t('text')}</p>
      </details>
    </div>
  )
}
