import type { Metadata } from 'next'
import { notFound } from 'next/navigation'
import { Messages } from '#components/frame/words.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Card, Page, Section } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import { ChartExamples } from './chart-examples.tsx'
import { OverlayExamples } from './overlay-examples.tsx'
import { StatusExamples } from './status-examples.tsx'
import { TableExamples } from './table-examples.tsx'

export const metadata: Metadata = { title: 'Components' }

const created = '2026-01-31T12:00:00Z'

/** Every shared component in all its states, for developers. There is no such page in production. */
export default function ComponentsPage() {
  if (process.env.NODE_ENV === 'production') notFound()
  return (
    <Messages>
      <Page
        title="Components"
        count={24}
        status={
          <Badge tone="progress" hasDot>
            In progress
          </Badge>
        }
        summary="13 open, 2 overdue"
        breadcrumbs={[
          { href: '/overview', title: 'Overview' },
          { href: '/dev/components', title: 'Components' },
        ]}
        actions={<Button size="small">Primary action</Button>}
        aside={
          <Card title="Facts">
            <FactList
              facts={[
                ['Created', <Time key="created" at={created} />],
                ['Last used', <Time key="used" at={created} show="relative" />],
                ['Deadline', <Time key="due" at={created} show="both" />],
              ]}
            />
          </Card>
        }
      >
        <Section title="Statuses and numbers">
          <StatusExamples />
        </Section>
        <Section title="Tables">
          <TableExamples />
        </Section>
        <Section title="Drawer, dialog, toast, menu">
          <OverlayExamples />
        </Section>
        <Section title="Charts and timeline">
          <ChartExamples />
        </Section>
      </Page>
    </Messages>
  )
}
