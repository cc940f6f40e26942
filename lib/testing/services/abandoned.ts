// A process that starts a service, tells its port and waits to be killed: for services.int.test.ts.
import { startNeo4j } from './neo4j.ts'
import { startS3 } from './objects.ts'

const [neo4j, s3] = [await startNeo4j(), await startS3()]
process.send?.({ ports: [neo4j.port, s3.port], folder: neo4j.folder })
setInterval(() => {}, 60_000)
