import { Alert } from '#components/ui/alert.tsx'
import { Badge, type BadgeTone, statusTones } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Sparkline } from '#components/ui/chart.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { ProgressBar } from '#components/ui/progress.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { Stepper } from '#components/ui/stepper.tsx'
import { Tabs } from '#components/ui/tabs.tsx'

const tones: readonly BadgeTone[] = ['neutral', 'progress', 'success', 'warning', 'danger']
const steps = [
  { key: 'review', title: 'Review' },
  { key: 'copy', title: 'Keep a copy' },
  { key: 'confirm', title: 'Confirm' },
]

export const StatusExamples = () => (
  <>
    <div className="flex flex-wrap gap-2">
      {tones.map((tone) => (
        <Badge key={tone} tone={tone}>
          {tone}
        </Badge>
      ))}
      {Object.entries(statusTones).map(([status, tone]) => (
        <Badge key={status} tone={tone} hasDot>
          {status.replaceAll('_', ' ')}
        </Badge>
      ))}
    </div>
    <StatTiles
      tiles={[
        { label: 'Open', value: 13, href: '#open' },
        { label: 'Overdue', value: 2, tone: 'danger', hint: 'oldest 28 days' },
        { label: 'Due this week', value: 4, tone: 'warning' },
        { label: 'Verified', value: '100 %', tone: 'success' },
        { label: 'Requests', value: '2.1 d', trend: <Sparkline values={[3, 5, 2, 8, 4]} label="Requests per day" /> },
      ]}
    />
    <Stepper label="Delete my data" steps={steps} current="copy" />
    <Tabs
      label="Views"
      tabs={[
        { href: '#data', title: 'Data', count: 312, isCurrent: true },
        { href: '#download', title: 'Download', isCurrent: false },
      ]}
    />
    <CopyableId id="rcpt_34W98a1GRR3kstHOkSWmutABCDEF" what="Receipt ID" />
    <ProgressBar value={3} max={8} label="Progress" />
    <ProgressBar value={0} max={0} label="Progress of unknown length" />
    <Skeleton className="h-9" />
    {(['info', 'done', 'warning', 'danger'] as const).map((tone) => (
      <Alert key={tone} tone={tone} title={`Alert: ${tone}`}>
        <p>What happened, then what to do.</p>
      </Alert>
    ))}
    <ProblemAlert problem={{ title: 'Forbidden', status: 403, code: 'forbidden', instance: 'req_example' }} />
    <EmptyState title="No tokens yet" action={<Button size="small">Create token</Button>}>
      <p>Agents sign their requests with tokens.</p>
    </EmptyState>
  </>
)
