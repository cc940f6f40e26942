'use client'

import { useFormatter, useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { Confirm, type Confirmed } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { insuredFor } from '#lib/domains/snapshots/rules.ts'
import { agentPage, agentPaths, type OwnAgentWhole, statusAt } from './agents.ts'
import { agentTitle } from './names.ts'
import { heartbeatFile } from './records.ts'
import { heartbeatsUntil, namesAgent } from './status-rules.ts'

const touches = [...agentPaths, '/api/knowledge']

/** The owner's controls: pause and resume at any time, retire once. */
export function StatusPanel({ agent }: { agent: OwnAgentWhole }) {
  const t = useTranslations('agents.one.status')
  const [open, setOpen] = useState<'pause' | 'death'>()
  const change = useApiMutation(statusAt, { touches })
  const name = agentTitle(agent)
  const isPaused = agent.status === 'paused'
  const close = () => setOpen(undefined)
  const act = isPaused ? 'resume' : 'pause'
  return (
    <div className="flex flex-wrap gap-2">
      <Button tone="plain" onClick={() => setOpen('pause')}>
        {t(`${act}.open`)}
      </Button>
      <Button tone="danger" onClick={() => setOpen('death')}>
        {t('death.open')}
      </Button>
      <Confirm
        open={open === 'pause'}
        onOpenChange={(isOpen) => !isOpen && close()}
        tone="main"
        title={t(`${act}.ask`, { name })}
        consequences={
          <>
            <p>{t(`${act}.text`)}</p>
            {isPaused && agent.restricted_at !== null && <p>{t('resume.restricted')}</p>}
          </>
        }
        action={t(`${act}.do`)}
        change={change}
        onConfirm={() =>
          change.begin({ params: { id: agent.agent_id }, body: { status: isPaused ? 'active' : 'paused' } }, close)
        }
      />
      <Death
        agent={agent}
        isOpen={open === 'death'}
        change={change}
        onClose={close}
        onConfirm={() =>
          change.begin({ params: { id: agent.agent_id }, body: { status: 'dead', confirm: agent.agent_id } }, close)
        }
      />
    </div>
  )
}

interface DeathProps {
  agent: OwnAgentWhole
  isOpen: boolean
  change: Confirmed
  onClose: () => void
  onConfirm: () => void
}
/** Explains what retiring deletes and when, what stays, and that it is final; then asks for the name of the agent. */
function Death({ agent, isOpen, change, onClose, onConfirm }: DeathProps) {
  const t = useTranslations('agents.one.status.death')
  const format = useFormatter()
  const now = useNow()
  const [typed, setTyped] = useState('')
  const hours24 = format.dateTime(heartbeatsUntil(now.toISOString()), { dateStyle: 'medium', timeStyle: 'short' })
  const day30 = format.dateTime(new Date(now.getTime() + insuredFor), { dateStyle: 'medium' })
  const points = [
    t('now'),
    t('recalled'),
    t('heartbeats', { until: hours24 }),
    t('snapshots', { until: day30 }),
    t('stays'),
  ]
  return (
    <Confirm
      open={isOpen}
      onOpenChange={(open) => {
        if (open) return
        setTyped('')
        onClose()
      }}
      title={t('ask', { name: agentTitle(agent) })}
      consequences={
        <>
          <ul className="grid list-disc gap-1.5 pl-5">
            {points.map((point) => (
              <li key={point}>{point}</li>
            ))}
          </ul>
          <p className="font-medium text-ink">{t('forGood')}</p>
          <p>
            <TextLink href={`${agentPage(agent.agent_id)}/snapshots`}>{t('snapshotFirst')}</TextLink>
          </p>
        </>
      }
      action={t('do')}
      change={change}
      isIncomplete={!namesAgent(typed, agent)}
      onConfirm={onConfirm}
    >
      <Field
        label={t('type', { id: agent.agent_id })}
        hint={agent.name === null ? undefined : t('typeHint', { name: agentTitle(agent) })}
        name="confirm"
        dir="auto"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
        required
      />
    </Confirm>
  )
}

/** The remaining data of a retired agent, and how long it is kept. */
export function AfterRetirement({ agent, diedAt }: { agent: OwnAgentWhole; diedAt: string }) {
  const t = useTranslations('agents.one.status.dead')
  const now = useNow()
  const insured = new Date(Date.parse(diedAt) + insuredFor)
  return (
    <div className="grid justify-items-start gap-3">
      <p>
        {now < insured
          ? t.rich('text', { time: () => <Time at={insured.toISOString()} isDay relative /> })
          : t('textLater')}
      </p>
      <p className="text-quiet">{t('stays')}</p>
      {now < heartbeatsUntil(diedAt) && (
        <PlainButtonLink tone="plain" href={heartbeatFile(agent.agent_id)} download>
          {t('export')}
        </PlainButtonLink>
      )}
      <p>
        <TextLink href={`${agentPage(agent.agent_id)}/snapshots`}>{t('snapshots')}</TextLink>
      </p>
    </div>
  )
}
