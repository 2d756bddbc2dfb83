# Makes slides.pptx with python-pptx 1.0.2; LibreOffice 7.4 made slides.ppt of it (soffice --headless --convert-to ppt).
from pptx import Presentation
from pptx.util import Inches

p = Presentation()
s = p.slides.add_slide(p.slide_layouts[0])
s.shapes.title.text, s.placeholders[1].text = "Lost keys", "What to do"
s = p.slides.add_slide(p.slide_layouts[1])
s.shapes.title.text = "Ключи and prices"
s.placeholders[1].text = "Keys are replaced for €45.\nAsk at the front desk."
s.notes_slide.notes_text_frame.text = "Say that the fee has risen."
s = p.slides.add_slide(p.slide_layouts[6])
s.shapes.add_textbox(Inches(1), Inches(1), Inches(4), Inches(1)).text_frame.text = "A plain box\vof two lines\nand a second paragraph."
t = s.shapes.add_table(2, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
for i, text in enumerate(["Item", "Price", "Key", "45"]):
    t.cell(i // 2, i % 2).text = text
p.slides.add_slide(p.slide_layouts[6])
p.save("slides.pptx")
