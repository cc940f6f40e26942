import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.exports.readExport)
export const DELETE = route(app.exports.deleteExport)
