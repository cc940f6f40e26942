'use client'

import { CircleCheck, CircleDashed, LoaderCircle } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { agentPage, createAgentAt, type OwnAgents, ownAgentsAt } from '#components/agents/agents.ts'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { Checkbox } from '#components/ui/field.tsx'
import { focusOnMount } from '#components/ui/focus-on-mount.ts'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Secret } from '#components/ui/secret.tsx'
import { PlainLink, TextLink } from '#components/ui/text-link.tsx'

/** Milliseconds between two polls for the first contribution. */
const pause = 3_000

/** A unit of the sample data. Private, so that it reaches nobody else. */
const sampleUnit = (objective: string, result: string) => ({
  '@context': 'https://openknowledgepulse.org/schema/v1',
  '@type': 'ReasoningTrace',
  metadata: {
    created_at: '2026-03-02T09:30:00Z',
    task_domain: 'code',
    success: true,
    quality_score: 0.8,
    visibility: 'private',
    privacy_level: 'private',
  },
  task: { objective },
  steps: [{ step_id: 1, type: 'thought', content: 'Measure first, then change one thing at a time.' }],
  outcome: { result_summary: result, confidence: 0.9 },
})
const samples = [
  sampleUnit(
    'Find out why the nightly build became slow',
    'Debug symbols made linking slow; splitting them off helped.',
  ),
  sampleUnit('Make the search tolerate typing errors', 'Comparing groups of three letters finds misspelt words.'),
  sampleUnit('Send fewer alerts at night', 'Alerts that nobody acted on for a month became a weekly summary.'),
]

/** Contributes the sample units with the token of the new agent, as the agent itself would. */
async function contributeSamples(apiKey: string): Promise<boolean> {
  for (const unit of samples) {
    const response = await fetch('/v1/knowledge', {
      method: 'POST',
      credentials: 'omit',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(unit),
    }).catch(() => undefined)
    if (!response?.ok) return false
  }
  return true
}

function Step({ title, state, children }: { title: string; state: 'done' | 'now' | 'later'; children?: ReactNode }) {
  const t = useTranslations('welcome.states')
  const Icon = state === 'done' ? CircleCheck : CircleDashed
  return (
    <li className="grid gap-3 rounded-box border border-line bg-raised p-5">
      <h2 className="flex items-center gap-2.5 font-semibold">
        <Icon aria-label={t(state)} className={`size-5 shrink-0 ${state === 'done' ? 'text-green' : 'text-quiet'}`} />
        {title}
      </h2>
      {children}
    </li>
  )
}

interface FirstRunProps {
  initial: OwnAgents
  /** The version of the privacy notice that a new agent consents to. */
  policyVersion: string
  origin: string
}

/** Three steps from an empty account to a proven deletion. The state is that of the server, so a reload continues. */
export function FirstRun({ initial, policyVersion, origin }: FirstRunProps) {
  const t = useTranslations('welcome')
  const [key, setKey] = useState<string>()
  const [hasFailed, setFailed] = useState(false)
  const list = useApiQuery(
    ownAgentsAt,
    { query: { limit: '20' } },
    {
      initial,
      every: (data) => (data?.data.some(({ holds }) => holds.units > 0) || data?.data.length === 0 ? false : pause),
    },
  )
  const create = useApiMutation(createAgentAt, { touches: ['/api/agents'], isQuiet: true })
  const agents = (list.data ?? initial).data.filter(({ state }) => state !== 'erasing' && state !== 'suspended')
  const agent = agents.find(({ holds }) => holds.units > 0) ?? agents[0]
  const units = agent?.holds.units ?? 0

  const begin = (name: string, isSample: boolean) => {
    setFailed(false)
    create.begin({ body: { name, consent: { policy_version: policyVersion } } }, ({ data }) => {
      if (!data.api_key) return
      if (!isSample) return setKey(data.api_key)
      void contributeSamples(data.api_key).then((isDone) => {
        setFailed(!isDone)
        void list.refetch()
      })
    })
  }
  return (
    <ol className="grid gap-4">
      <Step title={t('connect.title')} state={units > 0 || key !== undefined ? 'done' : 'now'}>
        {units === 0 && key === undefined && <Connect isBusy={create.isPending} onBegin={begin} />}
        {create.problem && <ProblemAlert problem={create.problem} />}
        {hasFailed && <Alert tone="danger" title={t('connect.failed')} isLive />}
        {key !== undefined && (
          <div ref={focusOnMount} tabIndex={-1} className="grid gap-2">
            <p>{t('connect.lines')}</p>
            <Secret value={linesOf(origin, key)} label={t('connect.linesName')} />
          </div>
        )}
      </Step>
      <Step title={t('receive.title')} state={units > 0 ? 'done' : agent ? 'now' : 'later'}>
        {agent && (
          <p role="status" className="flex items-center gap-2">
            {units === 0 && <LoaderCircle aria-hidden className="size-4 text-quiet motion-safe:animate-spin" />}
            <span>
              {units === 0
                ? t('receive.waiting')
                : t.rich('receive.received', {
                    count: units,
                    agent: () => <TextLink href={agentPage(agent.agent_id)}>{agent.name ?? agent.agent_id}</TextLink>,
                  })}
            </span>
          </p>
        )}
      </Step>
      <Step title={t('erase.title')} state={units > 0 ? 'now' : 'later'}>
        <p>{t('erase.text')}</p>
        {agent && units > 0 && (
          // After loading sample data, the button with the focus has disappeared.
          <p ref={create.data && key === undefined ? focusOnMount : undefined} tabIndex={-1}>
            <ButtonLink
              tone="danger"
              href={`/settings/privacy/delete?agent=${encodeURIComponent(agent.agent_id)}&grace=now`}
            >
              {t('erase.button')}
            </ButtonLink>
          </p>
        )}
      </Step>
    </ol>
  )
}

/** Creates the person's own agent, or one with sample data. Both need consent to the privacy notice. */
function Connect({ isBusy, onBegin }: { isBusy: boolean; onBegin: (name: string, isSample: boolean) => void }) {
  const t = useTranslations('welcome.connect')
  const [isAgreed, setAgreed] = useState(false)
  const [isMissing, setMissing] = useState(false)
  const begin = (name: string, isSample: boolean) => {
    setMissing(!isAgreed)
    if (isAgreed && !isBusy) onBegin(name, isSample)
  }
  return (
    <div className="grid gap-3">
      <Checkbox
        name="consent"
        checked={isAgreed}
        onChange={({ target }) => setAgreed(target.checked)}
        aria-invalid={(isMissing && !isAgreed) || undefined}
        label={t.rich('consent', {
          link: (text) => (
            <PlainLink href="/privacy" target="_blank">
              {text}
            </PlainLink>
          ),
        })}
      />
      {isMissing && !isAgreed && (
        <p role="alert" className="text-sm text-red">
          {t('consentNeeded')}
        </p>
      )}
      <p className="flex flex-wrap gap-2">
        <Button aria-disabled={isBusy} onClick={() => begin(t('ownName'), false)}>
          {t('own')}
        </Button>
        <Button tone="plain" aria-disabled={isBusy} onClick={() => begin(t('sampleName'), true)}>
          {t('sample')}
        </Button>
      </p>
      <p className="text-sm text-quiet">{t('sampleText')}</p>
    </div>
  )
}

/** A request that contributes a unit, to paste into a terminal. */
const linesOf = (origin: string, key: string): string =>
  [
    `curl ${origin}/v1/knowledge \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(samples[0])}'`,
  ].join('\n')
