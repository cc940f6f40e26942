'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { isolated } from '#components/agents/names.ts'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Choice, Field, TextArea } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { graces, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import { type FiledForParticipant, fileForParticipantAt, type Participant, participantPaths } from './endpoints.ts'
import { ParticipantErasurePlan } from './erasure-plan.tsx'
import { filingOf, hasStatement, type ParticipantFilingDraft, type ParticipantFilingFault } from './filing-rules.ts'

const maxWords = 4_000
const emptyDraft = ({ name, email }: Participant): ParticipantFilingDraft => ({
  kind: 'access',
  grace: '24h',
  name: name ?? '',
  email: email ?? '',
  statement: '',
})

/** The outcome of a filed request, with the address of the receipt that follows an erasure. */
function Outcome({ filed, claimed }: { filed: FiledForParticipant; claimed: boolean }) {
  const t = useTranslations('participants.file')
  const { data, joined } = filed
  return (
    <Alert tone="done" title={t(joined.length > 0 ? 'joined' : 'done')} isLive>
      {claimed && <p>{t('doneClaimed')}</p>}
      {data.receipt_id !== null && (
        <p>
          {t.rich('receipt', {
            link: (words) => (
              <TextLink href={`/receipts/${data.receipt_id}`} prefetch={false}>
                {words}
              </TextLink>
            ),
          })}
        </p>
      )}
    </Alert>
  )
}

interface CorrectionFieldsProps {
  draft: ParticipantFilingDraft
  change: (changes: Partial<ParticipantFilingDraft>) => void
  fault: ParticipantFilingFault | undefined
}
/** The participant's correct name and email address. */
function CorrectionFields({ draft, change, fault }: CorrectionFieldsProps) {
  const t = useTranslations('participants.file')
  const faults = useTranslations('common.faults')
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field
        label={t('name')}
        name="name"
        autoComplete="off"
        maxLength={200}
        value={draft.name}
        error={fault === 'changes' ? t('noChanges') : undefined}
        onChange={({ target }) => change({ name: target.value })}
      />
      <Field
        label={t('email')}
        name="email"
        type="email"
        autoComplete="off"
        maxLength={320}
        value={draft.email}
        error={fault === 'email' ? faults('email') : undefined}
        onChange={({ target }) => change({ email: target.value })}
      />
    </div>
  )
}

interface ParticipantFilingProps {
  projectId: string
  participant: Participant
  /** The viewer is an owner of the project. An erasure that anybody else files waits at least 24 hours. */
  isOwner: boolean
}
/** Files a request for a participant. An erasure shows its plan first and asks for confirmation. */
export function ParticipantFilingForm({ projectId, participant, isOwner }: ParticipantFilingProps) {
  const t = useTranslations('participants.file')
  const kindName = useTranslations('requestNames.kinds')
  const common = useTranslations('common')
  const { id: participantId, claimed, name, external_id } = participant
  const { draft, change, clear } = useDraft(`participant.${participantId}`, emptyDraft(participant))
  const filing = useApiMutation(fileForParticipantAt, { touches: participantPaths })
  const [fault, setFault] = useState<ParticipantFilingFault>()
  const [isAsked, setAsked] = useState(false)
  const [filed, setFiled] = useState<FiledForParticipant>()
  const { kind } = draft
  const file = () => {
    const found = filingOf(draft, participant)
    setFault('fault' in found ? found.fault : undefined)
    if ('fault' in found) return
    filing.begin({ params: { projectId, participantId }, body: found.body }, (answer) => {
      setFiled(answer)
      setAsked(false)
      clear()
    })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setFiled(undefined)
    if (kind === 'erasure') setAsked(true)
    else file()
  }
  const shown = isolated(name ?? external_id)
  return (
    <form method="post" onSubmit={submit} noValidate data-form="participant-request" className="grid gap-5">
      {filed && <Outcome filed={filed} claimed={claimed} />}
      {filing.problem && !isAsked && <ProblemAlert problem={filing.problem} />}
      {claimed && <p className="text-quiet">{t('claimed')}</p>}
      <Choice
        label={t('kind')}
        name="kind"
        value={kind}
        options={requestKinds.map((value) => ({ value, title: kindName(value), text: t(`kindTexts.${value}`) }))}
        onChange={(value) => {
          filing.reset()
          setFiled(undefined)
          setFault(undefined)
          change({ kind: value })
        }}
      />
      {kind === 'rectification' && !claimed && <CorrectionFields draft={draft} change={change} fault={fault} />}
      {hasStatement(kind) && (
        <TextArea
          label={t(`statement.${kind === 'objection' ? 'objection' : 'rectification'}`)}
          name="statement"
          dir="auto"
          maxLength={maxWords}
          value={draft.statement}
          error={fault === 'statement' ? t('statementMissing') : undefined}
          onChange={({ target }) => change({ statement: target.value })}
        />
      )}
      {kind === 'erasure' && !claimed && <ParticipantErasurePlan projectId={projectId} participantId={participantId} />}
      {kind === 'erasure' && (
        <Choice
          label={t('grace')}
          name="grace"
          value={draft.grace}
          options={graces
            .filter((value) => isOwner || value !== 'now')
            .map((value) => ({ value, title: t(`graces.${value}`) }))}
          onChange={(grace) => change({ grace })}
        />
      )}
      <Button
        type="submit"
        tone={kind === 'erasure' ? 'danger' : 'main'}
        aria-disabled={filing.isPending}
        className="justify-self-start"
      >
        {filing.isPending ? common('busy') : t(kind === 'erasure' ? 'erase' : 'submit')}
      </Button>
      <Confirm
        open={isAsked}
        onOpenChange={setAsked}
        title={t('eraseTitle', { name: shown })}
        consequences={<p>{t(draft.grace === 'now' ? 'eraseNow' : 'eraseLater', { grace: draft.grace })}</p>}
        action={t('eraseDo')}
        change={filing}
        onConfirm={file}
      />
    </form>
  )
}
