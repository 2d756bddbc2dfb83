import docx
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
d=docx.Document()
d.add_paragraph('Signs and lists','Title')
p=d.add_paragraph('The angle is 90')
def sym(p,font,char): p.add_run()._r.append(parse_xml('<w:sym %s w:font="%s" w:char="%s"/>'%(nsdecls('w'),font,char)))
sym(p,'Symbol','F0B0'); p.add_run(', the spread '); sym(p,'Symbol','F073'); p.add_run(' is '); sym(p,'Symbol','F0A3'); p.add_run(' 5, done '); sym(p,'Wingdings','F0FC')
p=d.add_paragraph('In the font: '); r=p.add_run('ab'); r.font.name='Symbol'; p.add_run(' (brackets stay).')
d.add_paragraph('first','List Number'); d.add_paragraph('second','List Number'); d.add_paragraph('between'); d.add_paragraph('third','List Number'); d.add_paragraph('a bullet','List Bullet')
d.save('signs.docx')
