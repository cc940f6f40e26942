import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.exports.listExports)
export const POST = route(app.exports.prepareExport)
