'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button, ButtonLink } from '#components/ui/button.tsx'
import { Checkbox, Choice, Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Time } from '#components/ui/time.tsx'
import type { fileForSubject } from '#lib/domains/privacy-requests/queue/contract.ts'
import { graces, legalDueAt, maxReceivedAge, requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { fileForSubjectAt, requestPaths } from './endpoints.ts'
import { faultsOf, filingBody, localTime, type QueueFilingDraft, type QueueFilingFault, subjectsBy } from './filing.ts'
import { WordsField } from './words-field.tsx'

type Filed = Output<typeof fileForSubject>

/** The result: a new request, or parts added to an open one. */
function Outcome({ filed, again }: { filed: Filed; again: () => void }) {
  const t = useTranslations('filing.done')
  const kindName = useTranslations('requestNames.kinds')
  const { list } = usePunctuation()
  const { data, joined } = filed
  // A kind that joined no open request made this a new request.
  const isNew = data.kinds.some((kind) => !joined.some((one) => one.kind === kind))
  const elsewhere = [...new Set(joined.map(({ request_id }) => request_id))].filter((id) => id !== data.id)
  return (
    <Alert tone="done" isLive title={isNew ? t('newTitle') : t('joined')}>
      {isNew && <p>{t.rich('new', { time: () => <Time at={data.legal_due_at} relative /> })}</p>}
      {joined.length > 0 && <p>{t('joinedText', { kinds: list(joined.map(({ kind }) => kindName(kind))) })}</p>}
      <div className="flex flex-wrap gap-2">
        <ButtonLink href={`/admin/requests/${data.id}`} size="small">
          {t('open')}
        </ButtonLink>
        {elsewhere.map((id) => (
          <ButtonLink key={id} href={`/admin/requests/${id}`} tone="plain" size="small">
            {t('joinedOpen')}
          </ButtonLink>
        ))}
        <Button tone="plain" size="small" onClick={again}>
          {t('another')}
        </Button>
      </div>
    </Alert>
  )
}

const empty: QueueFilingDraft = {
  by: 'email',
  subject: '',
  kinds: [],
  received: '',
  statement: '',
  grace: '24h',
  redact: false,
}

const noFaults: ReadonlySet<QueueFilingFault> = new Set()

interface FilingFieldProps {
  draft: QueueFilingDraft
  type: (changes: Partial<QueueFilingDraft>) => void
  /** The faults to show. */
  shown: ReadonlySet<QueueFilingFault>
}

function KindsField({ draft, type, shown }: FilingFieldProps) {
  const t = useTranslations('filing')
  const kindName = useTranslations('requestNames.kinds')
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-2 font-medium">{t('what')}</legend>
      {requestKinds.map((kind) => (
        <Checkbox
          key={kind}
          label={kindName(kind)}
          hint={t(`kindTexts.${kind}`)}
          checked={draft.kinds.includes(kind)}
          onChange={(event) =>
            type({
              kinds: event.currentTarget.checked ? [...draft.kinds, kind] : draft.kinds.filter((one) => one !== kind),
            })
          }
        />
      ))}
      {shown.has('kinds') && <p className="text-sm text-red">{t('kindsMissing')}</p>}
      {shown.has('copyOfAgent') && <p className="text-sm text-red">{t('copyOfAgent')}</p>}
    </fieldset>
  )
}

/** When the request arrived, and the deadline that follows. */
function ReceivedField({ draft, type, shown }: FilingFieldProps) {
  const t = useTranslations('filing')
  const received = localTime(draft.received)
  const isWrong = faultsOf(draft, new Date(), maxReceivedAge).has('received')
  const isOver = received !== undefined && legalDueAt(received) < new Date()
  return (
    <>
      <Field
        label={t('received')}
        hint={t('receivedHint')}
        type="datetime-local"
        value={draft.received}
        onChange={(event) => type({ received: event.currentTarget.value })}
        error={shown.has('received') ? t('receivedFault') : undefined}
        className="max-w-64"
        required
      />
      {received && !isWrong && (
        <p role="status" className={isOver ? 'text-red' : 'text-quiet'}>
          {t.rich(isOver ? 'dueOver' : 'due', {
            time: () => <Time at={legalDueAt(received).toISOString()} relative />,
          })}
        </p>
      )}
    </>
  )
}

/** The grace period, and whether names are also removed from records of other people. */
function ErasureFields({ draft, type }: Omit<FilingFieldProps, 'shown'>) {
  const t = useTranslations('filing')
  const queue = useTranslations('queue')
  return (
    <>
      <Choice
        label={t('grace')}
        name="grace"
        value={draft.grace}
        options={graces.map((value) => ({
          value,
          title: queue(`graces.${value}`),
          text: t(`graceTexts.${value}`),
        }))}
        onChange={(grace) => type({ grace })}
      />
      {draft.by !== 'agent_id' && (
        <Checkbox
          name="redact"
          label={t('redact')}
          hint={t('redactHint')}
          checked={draft.redact}
          onChange={(event) => type({ redact: event.currentTarget.checked })}
        />
      )}
    </>
  )
}

/**
 * Records a request that arrived by mail. Typed text survives until it is filed. A form about one account (`about`) has its own draft, so that
 * it cannot contain another person's data.
 */
export function QueueFilingForm({ about }: { about: string | undefined }) {
  const t = useTranslations('filing')
  const common = useTranslations('common')
  const {
    draft,
    change: type,
    clear,
  } = useDraft<QueueFilingDraft>(
    about ? `filing:${about}` : 'filing',
    about ? { ...empty, by: 'account_id', subject: about } : empty,
  )
  const [isTried, setIsTried] = useState(false)
  const [filed, setFiled] = useState<Filed>()
  const change = useApiMutation(fileForSubjectAt, { touches: requestPaths })
  const faults = faultsOf(draft, new Date(), maxReceivedAge)
  const shown = isTried ? faults : noFaults

  const submit = (event: FormEvent) => {
    event.preventDefault()
    setIsTried(true)
    const body = filingBody(draft)
    if (faults.size > 0 || !body) return
    change.begin({ body }, (answer) => {
      setFiled(answer)
      setIsTried(false)
      clear()
    })
  }
  if (filed) return <Outcome filed={filed} again={() => setFiled(undefined)} />
  return (
    <form onSubmit={submit} noValidate className="grid gap-6">
      {change.problem &&
        (change.problem.code === 'not_found' ? (
          <Alert tone="danger" isLive title={t('notFound')} />
        ) : (
          <ProblemAlert problem={change.problem} />
        ))}
      <Choice
        label={t('who')}
        name="by"
        value={draft.by}
        options={subjectsBy.map((value) => ({ value, title: t(`by.${value}`), text: t(`by.${value}Text`) }))}
        onChange={(by) => type({ by })}
      />
      <Field
        label={t(`fields.${draft.by}`)}
        type={draft.by === 'email' ? 'email' : 'text'}
        value={draft.subject}
        onChange={(event) => type({ subject: event.currentTarget.value })}
        autoComplete="off"
        spellCheck={false}
        maxLength={320}
        error={shown.has('subject') ? t('subjectMissing') : undefined}
        required
      />
      <KindsField draft={draft} type={type} shown={shown} />
      <ReceivedField draft={draft} type={type} shown={shown} />
      <WordsField
        label={t('statement')}
        hint={t('statementHint')}
        value={draft.statement}
        change={(statement) => type({ statement })}
        error={shown.has('statement') ? t('statementMissing') : undefined}
      />
      {draft.kinds.includes('erasure') && <ErasureFields draft={draft} type={type} />}
      <p className="text-quiet">{t('next')}</p>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" aria-disabled={change.isPending}>
          {change.isPending ? common('busy') : t('submit')}
        </Button>
        <Button tone="plain" onClick={clear}>
          {t('clear')}
        </Button>
      </div>
    </form>
  )
}
