'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { issueOf } from '#components/frame/faults.ts'
import { KeyDialog } from '#components/tokens/key-dialog.tsx'
import { Alert } from '#components/ui/alert.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Checkbox, CodeField, Field, Select } from '#components/ui/field.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { RegionSelect } from '#components/ui/region-select.tsx'
import { PlainLink, TextLink } from '#components/ui/text-link.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import { agentPage, createAgentAt } from './agents.ts'
import { isolated } from './names.ts'

const isAbout = (problem: ProblemDocument | undefined, field: string): boolean => issueOf(problem, field) !== undefined

const empty = { name: '', id: '', region: '', ancestor: '', isSelfHosted: false }

interface CreateFormProps {
  notice: { version: string; url: string }
  origin: string
  /** The person's agents that are not retired; the new agent may become a sibling of one of them. */
  ancestors: readonly { id: string; name: string | null }[]
  /** The regions that can be chosen. */
  regions: readonly string[]
}
/** An agent of the person's own, with consent that is asked for and a key that is shown once. */
export function CreateAgentForm({ notice, origin, ancestors, regions }: CreateFormProps) {
  const t = useTranslations('agents.create')
  const { draft, change, clear } = useDraft('agents.create', empty)
  const [isAgreed, setAgreed] = useState(false)
  const [isAgreementMissing, setMissing] = useState(false)
  const create = useApiMutation(createAgentAt, { touches: ['/api/agents', '/v1/auth/tokens'] })
  const { problem } = create
  const made = create.data?.data
  const isOfField =
    problem?.code === 'id_in_use' || ['agent_id', 'name', 'ancestor'].some((field) => isAbout(problem, field))

  const submit = () => {
    setMissing(!isAgreed)
    if (!isAgreed) return
    const [name, id] = [draft.name.trim(), draft.id.trim()]
    create.begin(
      {
        body: {
          consent: { policy_version: notice.version },
          ...(name !== '' && { name }),
          ...(id !== '' && { agent_id: id }),
          ...(draft.region !== '' && { region: draft.region }),
          ...(draft.isSelfHosted && { self_hosted: true }),
          ...(draft.ancestor !== '' && { ancestor: draft.ancestor }),
        },
      },
      () => {
        clear()
        setAgreed(false)
      },
    )
  }
  return (
    <>
      <FormBox name="create-agent" submit={t('submit')} isPending={create.isPending} onSubmit={submit}>
        {problem?.code === 'conflict' ? (
          <Alert tone="danger" title={t('tooMany')} isLive />
        ) : (
          problem && !isOfField && <ProblemAlert problem={problem} />
        )}
        <NameFields draft={draft} change={change} problem={problem} />
        <PlacementFields
          draft={draft}
          change={change}
          regions={regions}
          ancestors={ancestors}
          isAncestorGone={isAbout(problem, 'ancestor')}
        />
        <ConsentField
          version={notice.version}
          isAgreed={isAgreed}
          isMissing={isAgreementMissing}
          onChange={(agreed) => {
            setAgreed(agreed)
            setMissing(false)
          }}
        />
      </FormBox>
      {made && <CreatedDialog made={made} origin={origin} onClose={create.reset} />}
    </>
  )
}

type CreateDraft = typeof empty

interface NameFieldsProps {
  draft: CreateDraft
  change: (changes: Partial<CreateDraft>) => void
  problem: ProblemDocument | undefined
}
/** The display name, and an id of the person's choice. */
function NameFields({ draft, change, problem }: NameFieldsProps) {
  const t = useTranslations('agents.create')
  return (
    <>
      <Field
        label={t('nameLabel')}
        hint={t('nameHint')}
        name="name"
        dir="auto"
        autoComplete="off"
        value={draft.name}
        onChange={(event) => change({ name: event.target.value })}
        error={isAbout(problem, 'name') ? t('badName') : undefined}
      />
      <details open={draft.id !== '' || undefined}>
        <summary className="cursor-pointer text-accent">{t('idShown')}</summary>
        <div className="mt-3">
          <CodeField
            label={t('idLabel')}
            hint={t('idHint')}
            name="agent_id"
            value={draft.id}
            onChange={(event) => change({ id: event.target.value })}
            error={problem?.code === 'id_in_use' ? t('taken') : isAbout(problem, 'agent_id') ? t('badId') : undefined}
          />
        </div>
      </details>
    </>
  )
}

interface PlacementFieldsProps extends Pick<CreateFormProps, 'regions' | 'ancestors'> {
  draft: CreateDraft
  change: (changes: Partial<CreateDraft>) => void
  /** The chosen ancestor was retired meanwhile. */
  isAncestorGone: boolean
}
/** Where the agent stores its data, where it runs, and its siblings. */
function PlacementFields({ draft, change, regions, ancestors, isAncestorGone }: PlacementFieldsProps) {
  const t = useTranslations('agents.create')
  return (
    <details open={draft.region !== '' || draft.isSelfHosted || draft.ancestor !== '' || undefined}>
      <summary className="cursor-pointer text-accent">{t('placeShown')}</summary>
      <div className="mt-3 grid gap-4">
        <RegionSelect
          label={t('regionLabel')}
          hint={t('regionHint')}
          value={draft.region}
          regions={regions}
          onChange={(region) => change({ region })}
        />
        <Checkbox
          name="self_hosted"
          checked={draft.isSelfHosted}
          onChange={({ target }) => change({ isSelfHosted: target.checked })}
          label={t('selfHosted')}
          hint={t('selfHostedHint')}
        />
        {ancestors.length > 0 && (
          <Select
            label={t('ancestorLabel')}
            hint={t('ancestorHint')}
            name="ancestor"
            value={draft.ancestor}
            options={[
              { value: '', title: t('ancestorNone') },
              ...ancestors.map(({ id, name }) => ({ value: id, title: name === null ? id : `${name} (${id})` })),
            ]}
            onChange={({ target }) => change({ ancestor: target.value })}
            error={isAncestorGone ? t('ancestorGone') : undefined}
          />
        )}
      </div>
    </details>
  )
}

interface ConsentFieldProps {
  /** The version of the privacy notice. */
  version: string
  isAgreed: boolean
  isMissing: boolean
  onChange: (agreed: boolean) => void
}
function ConsentField({ version, isAgreed, isMissing, onChange }: ConsentFieldProps) {
  const t = useTranslations('agents.create')
  return (
    <div className="grid gap-1">
      <Checkbox
        name="consent"
        checked={isAgreed}
        onChange={({ target }) => onChange(target.checked)}
        aria-invalid={isMissing || undefined}
        label={t.rich('consent', {
          version,
          link: (chunks) => (
            <PlainLink href="/privacy" target="_blank">
              {chunks}
            </PlainLink>
          ),
        })}
        hint={t('consentHint')}
      />
      {isMissing && (
        <p role="alert" className="text-sm text-red">
          {t('consentNeeded')}
        </p>
      )}
    </div>
  )
}

interface CreatedDialogProps {
  made: { agent_id: string; name: string | null; api_key?: string | undefined; is_paused: boolean }
  origin: string
  onClose: () => void
}
/** Shows the token of the new agent, once. */
function CreatedDialog({ made, origin, onClose }: CreatedDialogProps) {
  const t = useTranslations('agents.create')
  const tokens = useTranslations('tokens')
  return (
    <KeyDialog
      apiKey={made.api_key || undefined}
      title={t('doneTitle', { name: isolated(made.name ?? made.agent_id) })}
      replayed={t('doneReplayed')}
      onClose={onClose}
      after={
        <p>
          {/* Replaces the history entry that prevents Back from losing the key. */}
          <TextLink href={agentPage(made.agent_id)} replace>
            {t('open')}
          </TextLink>
        </p>
      }
    >
      <p>{t('doneText')}</p>
      <CodeBlock code={`KP_URL=${origin} KP_TOKEN=<${tokens('key.name')}> kp search linker`} what="kp" />
      {made.is_paused && <Alert tone="warning" title={t('donePaused')} />}
    </KeyDialog>
  )
}
