'use client'

import { clsx } from 'clsx'
import { useNow, useTranslations } from 'next-intl'
import { parseAsStringLiteral, useQueryStates } from 'nuqs'
import { type ReactNode, useEffect, useRef } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Checkbox, Choice } from '#components/ui/field.tsx'
import { Time } from '#components/ui/time.tsx'
import { graces } from '#lib/domains/privacy-requests/rules.ts'
import { AgentExport } from './agent-export.tsx'
import { DeletionConfirm } from './deletion-confirm.tsx'
import { beginsAt, copyChoices, deletionSteps, nameChoices } from './deletion-rules.ts'
import { ExportDesk, type Exports } from './export-desk.tsx'
import type { PasswordIdentity } from './identity-field.tsx'

interface DeletionStepsProps {
  /** The consequences, in words. */
  what: ReactNode
  exported: Exports
  agent: { id: string; name: string } | undefined
  identity: PasswordIdentity
  isAdmin: boolean
  /** Whether tokens and sign-in keep working during the grace period, as configured for this installation. */
  tokens: 'stop' | 'keep'
  signIn: 'stop' | 'keep'
}

/** A wizard from the consequences to the final button. Only the address holds the step and the choices. */
export function DeletionSteps({ what, exported, agent, identity, isAdmin, tokens, signIn }: DeletionStepsProps) {
  const t = useTranslations('deletion')
  const now = useNow({ updateInterval: 60_000 })
  const [{ step, grace, copy, names }, choose] = useQueryStates({
    step: parseAsStringLiteral(deletionSteps).withDefault('what'),
    grace: parseAsStringLiteral(graces).withDefault('24h'),
    copy: parseAsStringLiteral(copyChoices).withDefault('none'),
    names: parseAsStringLiteral(nameChoices).withDefault('listed'),
  })
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    if (shown.current === step) return
    shown.current = step
    heading.current?.focus()
    heading.current?.scrollIntoView({ block: 'start' })
  }, [step])
  const at = deletionSteps.indexOf(step)
  const go = (to: number) => {
    const next = deletionSteps[to]
    if (next) void choose({ step: next }, { history: 'push' })
  }
  const isGoing = exported.data.some(({ state }) => state === 'queued' || state === 'running')
  const whose = agent ? 'tokensAgent' : 'tokens'
  return (
    <div className="grid gap-6">
      <nav aria-label={t('steps.label')}>
        <ol className="flex flex-wrap gap-x-2 gap-y-1 text-sm">
          {deletionSteps.map((name, index) => (
            <li key={name}>
              <button
                type="button"
                onClick={() => go(index)}
                disabled={index > at}
                aria-current={name === step ? 'step' : undefined}
                className={clsx(
                  'min-h-9 rounded-small px-2.5',
                  name === step ? 'bg-accent-wash font-medium text-accent' : 'text-quiet enabled:hover:bg-sunken',
                )}
              >
                {index + 1}. {t(`steps.${name}`)}
              </button>
            </li>
          ))}
        </ol>
      </nav>
      <section aria-labelledby="step-title" className="grid gap-5">
        <header className="grid gap-1">
          <h2 id="step-title" ref={heading} tabIndex={-1} className="text-lg font-semibold outline-none">
            {t(`${step}.title`)}
          </h2>
          {(step === 'copy' || step === 'when') && <p className="text-quiet">{t(`${step}.lead`)}</p>}
        </header>
        {step === 'what' && what}
        {step === 'what' && !agent && (
          <section aria-labelledby="names-title" className="grid gap-2">
            <h3 id="names-title" className="text-lg font-semibold">
              {t('names.title')}
            </h3>
            <p>{t('names.text')}</p>
            <Checkbox
              name="names"
              label={t('names.label')}
              hint={t('names.hint')}
              checked={names === 'taken'}
              onChange={({ target: { checked } }) => void choose({ names: checked ? 'taken' : 'listed' })}
            />
          </section>
        )}
        {step === 'copy' &&
          (agent ? (
            <AgentExport agent={agent} />
          ) : (
            <>
              <ExportDesk initial={exported} isBrief />
              {isGoing && <p className="text-sm text-quiet">{t('copy.preparing')}</p>}
              <Choice
                label={t('copy.label')}
                name="copy"
                value={copy}
                onChange={(value) => void choose({ copy: value })}
                options={copyChoices.map((value) => ({
                  value,
                  title: t(`copy.${value}.title`),
                  text: t(`copy.${value}.text`),
                }))}
              />
            </>
          ))}
        {step === 'when' && (
          <>
            <Choice
              label={t('when.label')}
              name="grace"
              value={grace}
              onChange={(value) => void choose({ grace: value })}
              options={graces.map((value) => ({
                value,
                title: (
                  <>
                    {t(`when.graces.${value}`)}
                    {value === '24h' && <span className="font-normal text-quiet"> ({t('when.usual')})</span>}
                  </>
                ),
                text:
                  value === 'now'
                    ? t(agent ? 'when.nowAgent' : 'when.now')
                    : t.rich('when.at', { time: () => <Time at={beginsAt(value, now).toISOString()} /> }),
              }))}
            />
            {grace !== 'now' && (
              <div className="grid gap-1">
                <h3 className="font-medium">{t('when.meanwhile')}</h3>
                <ul className="list-disc pl-5">
                  <li>{t(`when.${whose}.${tokens}`)}</li>
                  {!agent && <li>{t(`when.signIn.${signIn}`)}</li>}
                </ul>
              </div>
            )}
            <p className="text-quiet">{t('when.done')}</p>
          </>
        )}
        {step === 'confirm' && (
          <DeletionConfirm
            grace={grace}
            copy={copy}
            redacts={names === 'taken' && agent === undefined}
            agentId={agent?.id}
            identity={identity}
            isAdmin={isAdmin}
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
