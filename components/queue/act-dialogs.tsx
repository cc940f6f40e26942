'use client'

import { useNow, useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { useChange } from '#components/frame/asking.ts'
import { useDraft } from '#components/frame/draft.ts'
import { Confirm } from '#components/ui/confirm.tsx'
import { Checkbox, Field, Select } from '#components/ui/field.tsx'
import { Time } from '#components/ui/time.tsx'
import type { ProblemDocument } from '#lib/client/request.ts'
import { isCancellable, type RefusalGround, refusalGrounds } from '#lib/domains/privacy-requests/rules.ts'
import { type Act, extendedBy, type HandKind, longestExtension, partsByHand } from './acts.ts'
import {
  type AdminRequestDetail,
  assignAt,
  completeAt,
  expediteAt,
  extendAt,
  type Minder,
  pauseAt,
  refuseAt,
  resumeAt,
  retryAt,
  touched,
  verifyAt,
} from './places.ts'
import { StateProblem } from './state-problem.tsx'
import { WordsField } from './words-field.tsx'

export type DialogAct = Exclude<Act, 'comment'>
export interface ActProps {
  request: AdminRequestDetail
  close: () => void
  /** It is done. */
  done: () => void
}
const touching = { touches: touched }

interface ShellProps extends Pick<ActProps, 'request' | 'close'> {
  act: DialogAct
  text: ReactNode
  tone?: 'danger' | 'main'
  change: { isPending: boolean; problem: ProblemDocument | undefined }
  onConfirm: () => void
  isIncomplete?: boolean
  children?: ReactNode
}
function Shell({ act, request, close, text, tone = 'main', change, children, ...rest }: ShellProps) {
  const t = useTranslations('adminRequest.dialogs')
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && close()}
      title={t(`${act}.title`)}
      consequences={text}
      action={t(`${act}.action`)}
      tone={tone}
      change={{ isPending: change.isPending, problem: undefined }}
      {...rest}
    >
      <StateProblem problem={change.problem} act={act} request={request} />
      {children}
    </Confirm>
  )
}

/** Words that survive a reload and an ended session, until they are sent. */
function useWords({ request, done }: ActProps, act: DialogAct) {
  const { draft, change, clear } = useDraft(`request:${request.id}:${act}`, { text: '' })
  return {
    text: draft.text,
    isEmpty: draft.text.trim() === '',
    type: (text: string) => change({ text }),
    sent: () => {
      clear()
      done()
    },
  }
}

function VerifyDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.verify')
  const words = useWords(props, 'verify')
  const change = useChange(verifyAt, touching)
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

function PauseDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.pause')
  const words = useWords(props, 'pause')
  const change = useChange(pauseAt, touching)
  const send = () => change.begin({ params: { id: props.request.id }, body: { reason: words.text } }, words.sent)
  return (
    <Shell
      {...props}
      act="pause"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={send}
      isIncomplete={words.isEmpty}
    >
      <WordsField label={t('field')} value={words.text} change={words.type} autoFocus required />
    </Shell>
  )
}

function ExpediteDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.expedite')
  const words = useWords(props, 'expedite')
  const [dropCopies, setDropCopies] = useState(false)
  const change = useChange(expediteAt, touching)
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
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={send}
      isIncomplete={words.isEmpty}
    >
      <WordsField label={t('field')} value={words.text} change={words.type} autoFocus required />
      {hasCopies && (
        <Checkbox
          label={t('drop')}
          hint={t('dropText')}
          checked={dropCopies}
          onChange={(event) => setDropCopies(event.currentTarget.checked)}
        />
      )}
    </Shell>
  )
}

function ExtendDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.extend')
  const words = useWords(props, 'extend')
  const now = useNow()
  const most = longestExtension(props.request, now)
  const [days, setDays] = useState('30')
  const change = useChange(extendAt, touching)
  const count = Number(days)
  const limit = Number.isInteger(count) && count > 0 ? extendedBy(props.request, count, now) : undefined
  const isAllowed = limit instanceof Date
  const send = () =>
    change.begin({ params: { id: props.request.id }, body: { days: count, reason: words.text } }, words.sent)
  return (
    <Shell
      {...props}
      act="extend"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={send}
      isIncomplete={words.isEmpty || !isAllowed}
    >
      {most === 0 ? (
        <p className="text-amber">{t('none')}</p>
      ) : (
        <>
          <Field
            label={t('days')}
            type="number"
            inputMode="numeric"
            min={1}
            max={most}
            value={days}
            onChange={(event) => setDays(event.currentTarget.value)}
            hint={t('daysHint', { most })}
            error={isAllowed ? undefined : t('wrong', { most })}
            className="max-w-32"
            required
          />
          {isAllowed && (
            <p role="status">{t.rich('preview', { time: () => <Time at={limit.toISOString()} relative /> })}</p>
          )}
          <WordsField label={t('field')} value={words.text} change={words.type} required />
        </>
      )}
    </Shell>
  )
}

function RefuseDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.refuse')
  const queue = useTranslations('queue.kinds')
  const words = useWords(props, 'refuse')
  const [ground, setGround] = useState<RefusalGround>('unfounded')
  const change = useChange(refuseAt, touching)
  const { request } = props
  const kinds = partsByHand(request)
    .map((kind) => queue(kind))
    .join(', ')
  const send = () => change.begin({ params: { id: request.id }, body: { ground, reason: words.text } }, words.sent)
  return (
    <Shell
      {...props}
      act="refuse"
      tone="danger"
      text={<p>{isCancellable(request.state) ? t('textWhole') : t('textPart', { kinds })}</p>}
      change={change}
      onConfirm={send}
      isIncomplete={words.isEmpty}
    >
      <Select
        label={t('ground')}
        value={ground}
        onChange={(event) => setGround(refusalGrounds.find((one) => one === event.currentTarget.value) ?? 'other')}
        options={refusalGrounds.map((value) => ({ value, title: t(`grounds.${value}`) }))}
      />
      <WordsField label={t('field')} value={words.text} change={words.type} required />
      <p className="rounded-box border border-line bg-sunken px-4 py-3 text-sm text-quiet">{t('letter')}</p>
    </Shell>
  )
}

function CompleteDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.complete')
  const queue = useTranslations('queue.kinds')
  const words = useWords(props, 'complete')
  const kinds = partsByHand(props.request)
  const [chosen, setChosen] = useState<HandKind>()
  const change = useChange(completeAt, touching)
  const kind = chosen ?? kinds[0]
  const send = () => {
    if (kind) change.begin({ params: { id: props.request.id }, body: { kind, note: words.text } }, words.sent)
  }
  return (
    <Shell
      {...props}
      act="complete"
      text={<p>{t('text')}</p>}
      change={change}
      onConfirm={send}
      isIncomplete={words.isEmpty || kind === undefined}
    >
      <Select
        label={t('kind')}
        value={kind ?? ''}
        onChange={(event) => setChosen(kinds.find((one) => one === event.currentTarget.value))}
        options={kinds.map((value) => ({ value, title: queue(value) }))}
      />
      <WordsField label={t('field')} value={words.text} change={words.type} required />
    </Shell>
  )
}

function ResumeDialog(props: ActProps) {
  const t = useTranslations('adminRequest.dialogs.resume')
  const change = useChange(resumeAt, touching)
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
  const change = useChange(retryAt, touching)
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
  const { request, minders, me } = props
  // Nobody minds it yet: most likely whoever looks at it will.
  const [who, setWho] = useState(request.assigned_to ?? me)
  const change = useChange(assignAt, touching)
  const send = () =>
    change.begin({ params: { id: request.id }, body: { account_id: who === '' ? null : who } }, props.done)
  return (
    <Shell {...props} act="assign" text={<p>{t('text')}</p>} change={change} onConfirm={send}>
      <Select
        label={t('field')}
        value={who}
        onChange={(event) => setWho(event.currentTarget.value)}
        options={[
          { value: '', title: t('nobody') },
          ...minders.map(({ account_id, name }) => ({
            value: account_id,
            title: account_id === me ? t('me', { name }) : name,
          })),
        ]}
      />
    </Shell>
  )
}

/** Consequences, words and the button of one thing that is done to a request. */
export function ActDialog({
  act,
  minders,
  me,
  ...props
}: ActProps & { act: DialogAct; minders: readonly Minder[]; me: string }) {
  switch (act) {
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
