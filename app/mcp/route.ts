import { app } from '#lib/app-instance.ts'

const handler = app.plainRoute(app.mcp.endpoint)
export const GET = handler
export const POST = handler
export const DELETE = handler
