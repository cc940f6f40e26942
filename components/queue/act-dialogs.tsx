'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Checkbox, Select } from '#components/ui/field.tsx'
import { showToast } from '#components/ui/toast.ts'
import { type ActProps, type DialogAct, Shell, touching, useReasonText } from './act-shell.tsx'
import { CompleteDialog, ExtendDialog, RefuseDialog } from './decision-dialogs.tsx'
import { answerAt, assignAt, expediteAt, type Minder, pauseAt, resumeAt, retryAt, verifyAt } from './endpoints.ts'
import { ReplyField } from './reply-templates.tsx'
import { WordsField } from './words-field.tsx'

function VerifyDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.verify')
  const words = useReasonText(props, 'verify')
  const change = useApiMutation(verifyAt, touching)
  const send = () => change.begin({ params: { id: props.request.id }, body: { note: words.text } }, words.sent)
  return (
    <Shell
      {...props}
      act="verify"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={send}
      isIncomplete={words.isEmpty}
    >
      <WordsField label={t('field')} hint={t('hint')} value={words.text} change={words.type} autoFocus required />
    </Shell>
  )
}

function AnswerDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.answer')
  const words = useReasonText(props, 'answer')
  const change = useApiMutation(answerAt, touching)
  const send = () => change.begin({ params: { id: props.request.id }, body: { note: words.text } }, words.sent)
  return (
    <Shell
      {...props}
      act="answer"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={words.unlessGap(send)}
      isIncomplete={words.isEmpty}
    >
      <ReplyField act="answer" request={props.request} label={t('field')} words={words} autoFocus />
    </Shell>
  )
}

function PauseDialog(props: ActProps) {
  const t = useTranslations('queue.dialogs')
  const words = useReasonText(props, 'pause')
  const change = useApiMutation(pauseAt, touching)
  const send = () => change.begin({ params: { id: props.request.id }, body: { reason: words.text } }, words.sent)
  return (
    <Shell
      {...props}
      act="pause"
      text={<p>{t('pause.text')}</p>}
      change={change}
      onConfirm={words.unlessGap(send)}
      isIncomplete={words.isEmpty}
    >
      <ReplyField act="pause" request={props.request} label={t('reason')} words={words} autoFocus />
    </Shell>
  )
}

function ExpediteDialog(props: ActProps) {
  const t = useTranslations('queue.dialogs')
  const words = useReasonText(props, 'expedite')
  const [dropCopies, setDropCopies] = useState(false)
  const change = useApiMutation(expediteAt, touching)
  const send = () =>
    change.begin(
      { params: { id: props.request.id }, body: { reason: words.text, drop_copies: dropCopies } },
      words.sent,
    )
  const hasCopies = props.request.kinds.some((kind) => kind === 'access' || kind === 'portability')
  return (
    <Shell
      {...props}
      act="expedite"
      tone="danger"
      text={<p>{t('expedite.text')}</p>}
      change={change}
      onConfirm={send}
      isIncomplete={words.isEmpty}
    >
      <WordsField label={t('reason')} value={words.text} change={words.type} autoFocus required />
      {hasCopies && (
        <Checkbox
          label={t('expedite.drop')}
          hint={t('expedite.dropText')}
          checked={dropCopies}
          onChange={(event) => setDropCopies(event.currentTarget.checked)}
        />
      )}
    </Shell>
  )
}

function ResumeDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.resume')
  const change = useApiMutation(resumeAt, touching)
  return (
    <Shell
      {...props}
      act="resume"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={() => change.begin({ params: { id: props.request.id } }, props.done)}
    />
  )
}

function RetryDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.retry')
  const change = useApiMutation(retryAt, touching)
  return (
    <Shell
      {...props}
      act="retry"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={() => change.begin({ params: { id: props.request.id }, body: {} }, props.done)}
    />
  )
}

function AssignDialog(props: ActProps & { minders: readonly Minder[]; me: string }) {
  const t = useTranslations('adminRequest.dialogs.assign')
  const queue = useTranslations('queue')
  const words = useTranslations('adminRequest')
  const common = useTranslations('common')
  const { request, minders, me } = props
  // An unassigned request: suggest the reader.
  const [who, setWho] = useState(request.assigned_to ?? me)
  const change = useApiMutation(assignAt, touching)
  const undoing = useApiMutation(assignAt, touching)
  const assign = (account_id: string | null) => ({ params: { id: request.id }, body: { account_id } })
  const send = () =>
    change.begin(assign(who === '' ? null : who), () => {
      const name = minders.find(({ account_id }) => account_id === who)?.name ?? queue('assignee.none')
      showToast({
        title: words('assignedTo', { name }),
        undo: { label: common('undo'), run: () => undoing.begin(assign(request.assigned_to)) },
      })
      props.done()
    })
  return (
    <Shell {...props} act="assign" text={<p>{t('text')}</p>} change={change} onConfirm={send}>
      <Select
        label={queue('columns.assigned')}
        value={who}
        onChange={(event) => setWho(event.currentTarget.value)}
        options={[
          { value: '', title: queue('assignee.none') },
          ...minders.map(({ account_id, name }) => ({
            value: account_id,
            title: account_id === me ? t('me', { name }) : name,
          })),
        ]}
      />
    </Shell>
  )
}

/** The dialog for one action on a request. */
export function ActDialog({
  act,
  minders,
  me,
  ...props
}: ActProps & { act: DialogAct; minders: readonly Minder[]; me: string }) {
  switch (act) {
    case 'answer':
      return <AnswerDialog {...props} />
    case 'verify':
      return <VerifyDialog {...props} />
    case 'pause':
      return <PauseDialog {...props} />
    case 'expedite':
      return <ExpediteDialog {...props} />
    case 'extend':
      return <ExtendDialog {...props} />
    case 'refuse':
      return <RefuseDialog {...props} />
    case 'complete':
      return <CompleteDialog {...props} />
    case 'resume':
      return <ResumeDialog {...props} />
    case 'retry':
      return <RetryDialog {...props} />
    case 'assign':
      return <AssignDialog {...props} minders={minders} me={me} />
  }
}
