'use client'

import { Stamp } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useFormatter, useNow, useTranslations } from 'next-intl'
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { PlaceCards, useIsRendered } from '#components/erasures/place-cards.tsx'
import { useApiQuery } from '#components/frame/api-query.ts'
import { parseAsStringLiteral } from '#components/frame/query-parsers.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Checkbox, Choice, Field } from '#components/ui/field.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { Space } from '#components/ui/punctuation.ts'
import { Stepper } from '#components/ui/stepper.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { PlainLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { ErasureProgress } from '#lib/domains/erasure/contract.ts'
import type { ExportView } from '#lib/domains/exports/contract.ts'
import { type Grace, graces } from '#lib/domains/privacy-requests/rules.ts'
import { AgentExport } from './agent-export.tsx'
import {
  beginsAt,
  type Consequences,
  type CopyChoice,
  copyChoices,
  deletionSteps,
  filedDeletionQuery,
  isDeleteWord,
  isStillCounting,
  nameChoices,
} from './deletion-rules.ts'
import { ExportDesk, type Exports, exportsAt } from './export-desk.tsx'
import { exportSizeOf, filesToFetch } from './export-rules.ts'
import { useFiling } from './filing.ts'
import { IdentityField, LostFactor, type PasswordIdentity } from './identity-field.tsx'
import { RefusalNote } from './refusal.tsx'

interface PlanRow {
  key: string
  what: string
  deleted: number
  changed: number
  /** Records that a legal hold retains for now. */
  held: number
}

/** Records by category: deleted, and if there are any, pseudonymized and under legal hold. */
export function PlanTable({ rows }: { rows: readonly PlanRow[] }) {
  const t = useTranslations('deletion.what')
  const format = useFormatter()
  const shown = (['deleted', 'changed', 'held'] as const).filter(
    (key) => key === 'deleted' || rows.some((row) => row[key] > 0),
  )
  return (
    <DataTable
      label={t('table', { count: rows.length })}
      rows={rows}
      rowKey={({ key }) => key}
      columns={[
        { key: 'what', title: t('columns.what'), main: true, cell: ({ what }) => what },
        ...shown.map((key) => ({
          key,
          title: t(`columns.${key}`),
          numeric: true,
          cell: (row: PlanRow) => (row[key] > 0 ? format.number(row[key]) : '–'),
        })),
      ]}
    />
  )
}

/** The current time, updated every `every` milliseconds. `useNow` starts with the time at which the server rendered the page. */
function useCurrentTime(every: number): Date {
  const [now, setNow] = useState(useNow())
  useEffect(() => {
    const tick = () => setNow(new Date())
    tick()
    const timer = setInterval(tick, every)
    return () => clearInterval(timer)
  }, [every])
  return now
}

/** Whether tokens and sign-in keep working during the grace period, as configured for this installation. */
interface GraceRules {
  tokens: 'stop' | 'keep'
  signIn: 'stop' | 'keep'
}
interface DeletionStartProps extends GraceRules {
  grace: Grace
  onGrace: (grace: Grace) => void
  /** The deletion waits until the copy is downloaded or expires. */
  withCopy: boolean
  isOfAgent: boolean
}

/** When the deletion starts, and what works until then. */
function DeletionStart({ grace, onGrace, withCopy, tokens, signIn, isOfAgent }: DeletionStartProps) {
  const t = useTranslations('deletion.when')
  const now = useCurrentTime(10_000)
  const whom = isOfAgent ? 'agent' : 'person'
  return (
    <div className="grid gap-3">
      <Choice
        label={t('label')}
        name="grace"
        isInRow
        value={grace}
        onChange={onGrace}
        options={graces.map((value) => ({ value, title: t(`graces.${value}`) }))}
      />
      <div aria-live="polite" className="grid gap-1">
        {grace === 'now' && !withCopy ? (
          <p className="font-medium">{t('now', { whom })}</p>
        ) : (
          <p>
            {grace === 'now'
              ? t('afterCopy')
              : t.rich('at', { time: () => <Time at={beginsAt(grace, now).toISOString()} /> })}
            <Space />
            {t(`tokens.${tokens}`, { whom })}
            <Space />
            {!isOfAgent && t(`signIn.${signIn}`)}
          </p>
        )}
        <p className="text-sm text-quiet">{t('done')}</p>
      </div>
    </div>
  )
}

interface DeletionSummaryProps {
  numbers: Consequences
  withCopy: boolean
  redacts: boolean
}

/** What the button of the last step does, repeated in a few lines. */
function DeletionSummary({ numbers, withCopy, redacts }: DeletionSummaryProps) {
  const t = useTranslations('deletion.confirm')
  const { gone, changed, held } = numbers
  const facts: (readonly [string, string])[] = [
    [t('facts.gone'), t('gone', { count: gone })],
    ...(changed > 0 ? [[t('facts.changed'), t('changed', { count: changed })] as const] : []),
    ...(held > 0 ? [[t('facts.held'), t('held', { count: held })] as const] : []),
    ...(withCopy ? [[t('facts.copy'), t('copyFirst')] as const] : []),
    ...(redacts ? [[t('facts.names'), t('names')] as const] : []),
  ]
  return (
    <div className="rounded-box border border-line bg-raised p-4">
      <FactList facts={facts} />
    </div>
  )
}

interface DeletionCopyProps {
  exported: Exports
  agent: { id: string; name: string } | undefined
  copy: CopyChoice
  onCopy: (copy: CopyChoice) => void
}

/** The step before a deletion: whether to take a copy, with the request or right away. */
function DeletionCopy({ agent, ...props }: DeletionCopyProps) {
  return agent ? <AgentExport agent={agent} /> : <PersonCopy {...props} />
}

function PersonCopy({ exported, copy, onCopy }: Omit<DeletionCopyProps, 'agent'>) {
  const t = useTranslations('deletion.copy')
  const now = useNow({ updateInterval: 30_000 })
  const { data } = useApiQuery(exportsAt, {}, { initial: exported }).data ?? exported
  const isGoing = data.some(({ state }) => state === 'queued' || state === 'running')
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const files = filesToFetch(data, seen, now)
  if (files.some(({ id }) => !seen.has(id))) setSeen(new Set(files.map(({ id }) => id)))
  return (
    <>
      {files.length > 0 && <FilesToFetch files={files} />}
      <Choice
        label={t('label')}
        isLabelHidden
        name="copy"
        value={copy}
        onChange={onCopy}
        options={copyChoices.map((value) => ({
          value,
          title: t(value === 'none' && files.length > 0 ? 'none.ready' : `${value}.title`),
          ...(value === 'with' && { text: t('with.text') }),
        }))}
      />
      <ExportDesk initial={exported} isBrief />
      {isGoing && <p className="text-sm text-quiet">{t('preparing')}</p>}
    </>
  )
}

/** Prepared files that the deletion, or the end of their retention, deletes. */
function FilesToFetch({ files }: { files: readonly ExportView[] }) {
  const t = useTranslations('deletion.copy.files')
  const count = files.filter(({ downloaded_at: at }) => at === null).length
  return (
    <Alert tone={count > 0 ? 'warning' : 'done'} title={t('title', { count })}>
      {files.map((file) => (
        <FileToFetch key={file.id} file={file} />
      ))}
    </Alert>
  )
}

function FileToFetch({ file: { id, scope, bytes, expires_at: until, downloaded_at: at } }: { file: ExportView }) {
  const t = useTranslations('deletion.copy.files')
  const exports = useTranslations('exports')
  const format = useFormatter()
  const { value, unit } = exportSizeOf(bytes ?? 0)
  const size = format.number(value, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 1 })
  return (
    <div>
      <PlainLink
        href={`/api/privacy/exports/${id}/file`}
        download
        aria-label={exports('downloadNamed', { what: exports(`scopes.${scope}`), size })}
      >
        {exports('download')}
      </PlainLink>
      <p>
        {at === null
          ? until !== null && t.rich('until', { time: () => <Time at={until} /> })
          : exports.rich('fetched', { time: () => <Time at={at} /> })}
      </p>
    </div>
  )
}

interface DeletionConfirmProps extends GraceRules {
  numbers: Consequences
  grace: Grace
  onGrace: (grace: Grace) => void
  copy: CopyChoice
  /** The person's name is removed from records that other people wrote in graphs. */
  redacts: boolean
  agentId: string | undefined
  identity: PasswordIdentity
  isAdmin: boolean
}

/** Repeats what is deleted and when, asks for the confirmation word and the password, and files the request once. */
function DeletionConfirm({ numbers, onGrace, tokens, signIn, ...props }: DeletionConfirmProps) {
  const { grace, agentId, identity, isAdmin, redacts } = props
  const t = useTranslations('deletion.confirm')
  const { filing, file, isSent, withCopy } = useDeletion(props)
  const [word, setWord] = useState('')
  const [isMismatch, setMismatch] = useState(false)
  const expected = t('word')

  const send = (form: HTMLFormElement | null, byLink: boolean) => {
    if (isSent) return
    const isRight = isDeleteWord(word)
    setMismatch(!isRight)
    if (isRight) file(byLink)
    else form?.querySelector<HTMLInputElement>('input[name=word]')?.focus()
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    send(event.currentTarget, false)
  }
  const isBusy = filing.isPending || isSent
  return (
    <form method="post" onSubmit={submit} noValidate className="grid gap-5" aria-label={t('title')}>
      <DeletionSummary numbers={numbers} withCopy={withCopy} redacts={redacts} />
      <DeletionStart {...{ grace, onGrace, withCopy, tokens, signIn }} isOfAgent={agentId !== undefined} />
      <RefusalNote error={filing.refusal} words="deletion" {...(isAdmin && !agentId && { conflict: 'lastAdmin' })} />
      <Field
        label={t('type', { word: expected })}
        error={isMismatch && !isDeleteWord(word) ? t('mismatch', { word: expected }) : undefined}
        name="word"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        maxLength={20}
        value={word}
        onChange={({ target }) => setWord(target.value)}
        className="sm:max-w-96"
      />
      <IdentityField {...identity} input={filing.input} fault={filing.fault} />
      {filing.isUnconfirmed && (
        <LostFactor email={identity.email} isPending={isBusy} onLink={(form) => send(form, true)} />
      )}
      <Button type="submit" tone="danger" aria-disabled={isBusy} className="justify-self-start">
        {isBusy ? t('busy') : t(!identity.hasPassword ? 'link' : agentId === undefined ? 'button' : 'buttonAgent')}
      </Button>
    </form>
  )
}

/** Files the deletion once. Its result has its own address, which needs no session. */
function useDeletion({
  grace,
  copy,
  redacts,
  agentId,
  identity,
}: Pick<DeletionConfirmProps, 'grace' | 'copy' | 'redacts' | 'agentId' | 'identity'>) {
  const router = useRouter()
  const filing = useFiling({ hasPassword: identity.hasPassword, isQuiet: true })
  const [isSent, setSent] = useState(false)
  const withCopy = copy === 'with' && agentId === undefined
  const file = (byLink: boolean) =>
    filing.file(
      {
        kinds: withCopy ? ['access', 'erasure'] : ['erasure'],
        grace,
        ...(redacts && { redact: true }),
        ...(agentId !== undefined && { agent_id: agentId }),
      },
      ({ data, joined }) => {
        setSent(true)
        const isJoined = joined.some(({ kind }) => kind === 'erasure')
        router.replace(`/settings/privacy/delete?${filedDeletionQuery(data, { agent: agentId, isJoined })}`)
        router.refresh()
      },
      { byLink },
    )
  return { filing, file, isSent, withCopy }
}

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

const soon = 2_000
const later = 15_000
/** After this time the page asks less often. */
const patience = 120_000
/** Milliseconds between two readings of the clock, and the gap between them that means that the device slept. */
const beat = 2_000
const asleep = 20_000
/** Milliseconds for which the result stays visible before the receipt replaces it. */
const resultShown = 2_000

/** The progress as the API returns it. Undefined if there is none, or if the server does not answer. */
async function progressOf(receiptId: string | undefined): Promise<ErasureProgress | undefined> {
  if (receiptId === undefined) return undefined
  const response = await fetch(`/v1/receipts/${receiptId}/progress`).catch(() => undefined)
  if (!response?.ok) return undefined
  const { data } = (await response.json()) as { data: ErasureProgress }
  return data
}

/**
 * Counts how often the device or the page slept. The connection of a stream may be dead after a sleep, and the browser does not learn of it
 * as long as nothing is sent.
 */
function useWakes(): number {
  const [wakes, setWakes] = useState(0)
  useEffect(() => {
    let last = Date.now()
    const timer = setInterval(() => {
      const now = Date.now()
      if (now - last > asleep) setWakes((count) => count + 1)
      last = now
    }, beat)
    return () => clearInterval(timer)
  }, [])
  return wakes
}

/**
 * Shows a deletion while it runs: each place with its remaining records, the second search, and the seal. It then asks the server, which
 * redirects to the receipt. Where the events do not arrive, the page asks for the progress. `receiptId`: the id that the receipt
 * will have, if it is known.
 */
export function DeletionProgress({ receiptId, isSlow = false }: { receiptId: string | undefined; isSlow?: boolean }) {
  const t = useTranslations('deletion.done')
  const router = useRouter()
  const [progress, setProgress] = useState<ErasureProgress>()
  // After a reload, the numbers do not fall again.
  const isReloaded = useIsRendered()
  const [isFollowed, setFollowed] = useState(false)
  const isOver = progress?.state === 'done'
  const wakes = useWakes()

  // biome-ignore lint/correctness/useExhaustiveDependencies: after a sleep the events come from a new connection, which begins with the present progress
  useEffect(() => {
    if (receiptId === undefined || isOver) return
    const events = new EventSource(`/v1/receipts/${receiptId}/progress/events`)
    events.onmessage = ({ data }) => {
      setFollowed(true)
      setProgress(JSON.parse(data) as ErasureProgress)
    }
    // A browser connects again after a lost connection or ten minutes. It does not after a refusal.
    events.onerror = () => setFollowed(false)
    return () => events.close()
  }, [receiptId, isOver, wakes])

  // Once after the result was visible, and then now and then: before the start, somebody may cancel the deletion elsewhere.
  useEffect(() => {
    if (!isFollowed) return
    const first = setTimeout(() => router.refresh(), isOver ? resultShown : later)
    const next = setInterval(() => router.refresh(), later)
    return () => {
      clearTimeout(first)
      clearInterval(next)
    }
  }, [router, isFollowed, isOver])

  useEffect(() => {
    if (isFollowed) return
    const started = Date.now()
    let timer: ReturnType<typeof setTimeout>
    let isClosed = false
    const ask = async () => {
      const read = document.visibilityState === 'visible' && !isOver ? await progressOf(receiptId) : undefined
      if (isClosed) return
      if (read) setProgress(read)
      // A result stays visible until the next time.
      if (read?.state !== 'done' && document.visibilityState === 'visible') router.refresh()
      timer = setTimeout(() => void ask(), !isSlow && Date.now() - started < patience ? soon : later)
    }
    timer = setTimeout(() => void ask(), isSlow ? later : soon)
    return () => {
      isClosed = true
      clearTimeout(timer)
    }
  }, [router, receiptId, isSlow, isFollowed, isOver])

  if (!progress || progress.places.length === 0 || isStillCounting(progress))
    return (
      <div className="grid gap-2">
        <ProgressBar value={0} max={0} label={t('states.running.title')} />
        <p role="status">{progress?.state === 'planning' && t('counting')}</p>
      </div>
    )
  return (
    <div className="grid gap-4">
      <PlaceCards places={progress.places} isOver={isReloaded} hasFailed={progress.state === 'failed'} />
      <p role="status" className="flex min-h-8 items-center gap-2 font-medium">
        {isOver && (
          <>
            <Stamp aria-hidden className="size-6 text-green motion-safe:animate-[settle_400ms_ease-out]" />
            {t('sealed')}
          </>
        )}
      </p>
    </div>
  )
}
