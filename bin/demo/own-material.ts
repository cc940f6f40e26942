/** Problems that the example organization's agents work on: enough for searches, votes and disagreement. */
export const demoProblems = [
  {
    domain: 'code',
    objective: 'Find out why the build takes eleven minutes since Tuesday.',
    suspects: ['the linker', 'a cache that is never hit', 'tests that wait for a clock'],
    cause: 'the cache key held the date, so every day began cold.',
    remedy: 'The key is now the lock file; a warm build takes two minutes.',
  },
  {
    domain: 'code',
    objective: 'A test fails on one machine in ten. Say why before anybody repeats it.',
    suspects: ['a race', 'the time zone', 'an order of files that nobody promised'],
    cause: 'the test read a folder and trusted the order of its entries.',
    remedy: 'Sorted before it is compared; four hundred runs without a failure.',
  },
  {
    domain: 'operations',
    objective: 'Restore yesterday’s backup beside the running database and compare the counts.',
    suspects: ['the retention of the bucket', 'a half-written dump', 'the wrong time zone'],
    cause: 'the dump was whole; the count differed by rows that were erased since.',
    remedy: 'The erasure ledger was replayed, and the counts agree.',
  },
  {
    domain: 'operations',
    objective: 'Disk space falls by two gigabytes a day. Find what writes them.',
    suspects: ['logs without rotation', 'orphaned temporary files', 'a replica that fell behind'],
    cause: 'a replication slot that nobody read from any more held back every segment.',
    remedy: 'The slot was dropped after asking its owner; an alarm watches the others.',
  },
  {
    domain: 'customer_service',
    objective: 'Answer a customer who was charged twice and has written three times.',
    suspects: ['a retry of the payment', 'two orders', 'a refund still on its way'],
    cause: 'one payment was a reservation that the bank shows as a charge.',
    remedy: 'The reservation’s reference and its end were named; no third letter came.',
  },
  {
    domain: 'customer_service',
    objective: 'Sort two hundred returned parcels by what has to happen next.',
    suspects: ['the reason code', 'the photo', 'the date of purchase'],
    cause: 'the reason code is often wrong, and the photo settles it.',
    remedy: 'Photo first, code second: eleven percent went another way than before.',
  },
  {
    domain: 'finance',
    objective: 'Reconcile the invoices of March with the bank statement.',
    suspects: ['rounding', 'a credit note', 'an invoice that was sent twice'],
    cause: 'a credit note was booked against the wrong month.',
    remedy: 'Booked anew; the difference is zero to the cent.',
  },
  {
    domain: 'logistics',
    objective: 'Plan the morning’s routes when one van is missing.',
    suspects: ['the order of the stops', 'a closed bridge', 'cold goods that cannot wait'],
    cause: 'two tours shared a street that is one-way in the morning.',
    remedy: 'The two were merged, cold goods first; everything arrived before noon.',
  },
  {
    domain: 'logistics',
    objective: 'The stock says forty, the shelf has thirty-one. Find the nine.',
    suspects: ['a shelf with two labels', 'a delivery that was booked twice', 'breakage'],
    cause: 'a delivery was booked by the scanner and again by hand.',
    remedy: 'The second booking was reversed; the scanner warns of it now.',
  },
  {
    domain: 'medical',
    objective: 'Put the night’s laboratory values in the order in which somebody should look at them.',
    suspects: ['a changed unit', 'a diluted sample', 'a value that was always high'],
    cause: 'a device reported in another unit after its update.',
    remedy: 'Units are read with the value; what cannot be read is shown first.',
  },
  {
    domain: 'medical',
    objective: 'Check whether the rota leaves eleven hours between two shifts for everybody.',
    suspects: ['a swap that was not written down', 'daylight saving', 'a public holiday'],
    cause: 'the night of the clock change was counted as eight hours.',
    remedy: 'Hours are counted in UTC; two shifts were moved.',
  },
  {
    domain: 'documents',
    objective: '把三份供应商合同中关于交货延迟的条款整理成一张表。',
    suspects: ['附件优先于正文', '日期按工作日计算', '译文与原文不一致'],
    cause: '其中一份合同的附件修改了正文的期限。',
    remedy: '表中注明了每一条的出处，附件优先。',
  },
] as const

/** The systems that the demo agents examine. */
export const tools = [
  {
    system: 'the build farm',
    tool: 'build-log',
    command: 'build-log --slowest 20',
    shows: 'Linking takes most of the time',
  },
  {
    system: 'the staging database',
    tool: 'sql',
    command: 'select count(*) from orders',
    shows: 'The counts differ by nine',
  },
  {
    system: 'the parcel desk',
    tool: 'photo-reader',
    command: 'describe parcel',
    shows: 'The box is whole, the seal is not',
  },
  { system: 'the ledger', tool: 'statement', command: 'statement --month 3', shows: 'One line has no partner' },
  {
    system: 'the ward',
    tool: 'device-log',
    command: 'device-log --since 22:00',
    shows: 'An update was installed at two in the morning',
  },
  {
    system: 'the warehouse',
    tool: 'scanner-log',
    command: 'scanner-log --shelf 14',
    shows: 'The same number was read twice',
  },
  { system: 'the timetable', tool: 'calendar', command: 'calendar --week', shows: 'Two entries overlap by an hour' },
  {
    system: 'the mail queue',
    tool: 'queue',
    command: 'queue --stuck',
    shows: 'Nothing is stuck for longer than a minute',
  },
  { system: '文件库', tool: 'doc-search', command: 'doc-search 交货延迟', shows: '找到三处相关条款' },
] as const

/** Procedures that experts wrote. */
export const procedures = [
  {
    name: 'Restore a backup without bringing anybody back',
    domain: 'operations',
    steps: [
      'Stop whatever writes.',
      'Restore into a database of its own.',
      'Replay the erasure ledger.',
      'Compare the counts, then switch.',
    ],
  },
  {
    name: 'Answer somebody who asks what is held about them',
    domain: 'customer_service',
    steps: [
      'Find out who asks, by the address on file alone.',
      'Prepare the export.',
      'Say in words what it holds and what it does not.',
    ],
  },
  {
    name: 'Take a van off the road in the middle of a tour',
    domain: 'logistics',
    steps: [
      'Cold goods first: where is the next cold store?',
      'Call the customers of the next two hours.',
      'Split what is left between the two nearest tours.',
    ],
  },
  {
    name: 'Read a value that cannot be right',
    domain: 'medical',
    steps: [
      'Repeat the measurement.',
      'Compare the unit with yesterday’s.',
      'Tell whoever is on duty before the list is passed on.',
    ],
  },
  {
    name: 'Close the month',
    domain: 'finance',
    steps: [
      'Freeze the bookings.',
      'Match the statement line by line.',
      'Explain every line without a partner.',
      'Have somebody else look.',
    ],
  },
  {
    name: 'Bring a failing test to rest',
    domain: 'code',
    steps: [
      'Make it fail at will.',
      'Say what it depends on that it should not.',
      'Take that away; repeat it four hundred times.',
    ],
  },
] as const

const skill = (name: string, description: string, tools: string, body: string): string =>
  `---\nname: ${name}\ndescription: ${description}\nversion: 1.0.0\nlicense: CC0-1.0\ntags: [${tools.split(' ').join(', ').toLowerCase()}, example]\nallowed-tools: ${tools}\n---\n\n# ${name}\n\n${body}\n`

/** Skills of the example organization, as SKILL.md. */
export const ownSkills: readonly string[] = [
  skill(
    'slow-build',
    'Finds what makes a build slow, before anything is changed.',
    'Read Bash',
    '1. Measure three builds, cold and warm.\n2. Read the log with Read; name the slowest twenty steps.\n3. Change one thing, and measure again.',
  ),
  skill(
    'parcel-desk',
    'Sorts returned parcels by what has to happen next.',
    'Read',
    '1. Look at the photo before the reason code.\n2. Say what is certain, and what is a guess.\n3. Whatever is leaking goes first.',
  ),
  skill(
    'month-end',
    'Matches invoices with a bank statement and explains every line that is left.',
    'Read Grep',
    '1. Freeze the bookings.\n2. Match by reference, then by amount and day.\n3. A line without a partner gets a sentence, never a guess.',
  ),
  skill(
    'night-values',
    'Puts laboratory values in the order in which somebody should look at them.',
    'Read',
    '1. Read the unit with the value.\n2. What cannot be read comes first.\n3. Never leave a value out because it was always high.',
  ),
]
